/**
 * Page lock: the Web Lock that a page holds while it is there. The worker waits for the lock, and so
 * notices the end of a page that could not say anything.
 */

import { web } from "../web-globals.ts";

export class PageLock {
  /** The name of the lock. */
  readonly id: string;
  readonly release: () => void;

  private constructor(id: string, release: () => void) {
    this.id = id;
    this.release = release;
  }

  /** Resolves when the lock is held. */
  static hold(): Promise<PageLock> {
    const id = `bigpeer-page:${crypto.randomUUID()}`;
    return new Promise((resolve) => {
      const held = (): Promise<void> =>
        new Promise((release) => resolve(new PageLock(id, () => release())));
      void web.navigator.locks.request(id, {}, held);
    });
  }
}
