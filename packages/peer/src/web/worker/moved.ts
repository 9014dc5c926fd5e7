/**
 * Moved: the answer to a page whose peer runs in another worker.
 */

/** Thrown to a page whose peer runs in another worker. */
export class Moved extends Error {
  readonly url: string;
  readonly protocol: number;

  constructor(url: string, protocol: number) {
    super("the peer runs in another worker");
    this.url = url;
    this.protocol = protocol;
  }
}
