/**
 * Observer: what ends the calls of a callback, for presence, the authentication and transports.
 */

/// <reference lib="esnext.disposable" preserve="true" />

/** As the presence, the authenticator and an instance return it. */
export class Observer {
  readonly #end: () => void;
  #isStopped = false;

  constructor(end: () => void) {
    this.#end = end;
  }

  get isStopped(): boolean {
    return this.#isStopped;
  }

  /** No call comes after it. A second call has no effect. */
  stop(): void {
    if (this.#isStopped) return;
    this.#isStopped = true;
    this.#end();
  }

  [Symbol.dispose](): void {
    this.stop();
  }
}
