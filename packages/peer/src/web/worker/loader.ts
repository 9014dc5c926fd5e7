/**
 * Worker loader: the script of a SharedWorker. It imports the engine, whose address is after the `#`
 * of its own address, and then passes on the pages that have connected meanwhile.
 *
 * Chromium keeps the compiled code of a module that a worker imports by `import()`. It compiles the
 * script of the worker, and what that imports statically, again at each start.
 */

import type { WorkerMessage } from "../messages.ts";
import { type WorkerConnected, web } from "../web-globals.ts";
import { addressIn } from "../worker-name.ts";

export class WorkerLoader {
  readonly #engine: string;
  #waiting: WorkerConnected[] = [];
  #isLoading = false;
  #failures = 0;

  constructor(engine: string) {
    this.#engine = engine;
  }

  start(): void {
    web.addEventListener("connect", this.#connected);
    void this.#load();
  }

  readonly #connected = (event: WorkerConnected): void => {
    this.#waiting.push(event);
    void this.#load();
  };

  async #load(): Promise<void> {
    if (this.#isLoading) return;
    this.#isLoading = true;
    // A browser does not load an address again that has failed. With another `#` it is another one.
    const address = this.#failures === 0 ? this.#engine : `${this.#engine}#${this.#failures}`;
    try {
      await import(/* webpackIgnore: true */ /* @vite-ignore */ address);
    } catch {
      this.#isLoading = false;
      this.#failures++;
      return this.#refuse();
    }
    web.removeEventListener("connect", this.#connected);
    // The engine listens now.
    for (const event of this.#waiting) web.dispatchEvent(event);
  }

  /** The next page that connects has it loaded again. */
  #refuse(): void {
    const message = `the worker of this peer cannot be loaded from ${this.#engine}`;
    const error = { name: "PeerError", message, code: "config.invalid" } as const;
    const refused: WorkerMessage = { instance: "", kind: "refused", error };
    for (const { ports } of this.#waiting) ports[0]?.postMessage(refused);
    this.#waiting = [];
  }
}

if (web.SharedWorkerGlobalScope !== undefined) {
  const { hash } = new URL(addressIn(web.name));
  new WorkerLoader(decodeURIComponent(hash.slice(1))).start();
}
