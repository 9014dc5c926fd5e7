/**
 * Gate: a one-shot latch. It opens once, and others wait until it does.
 */

export class Gate {
  readonly opened: Promise<void>;
  #resolve: (() => void) | undefined;

  constructor() {
    this.opened = new Promise((resolve) => {
      this.#resolve = resolve;
    });
  }

  /** May be called again. */
  open(): void {
    this.#resolve?.();
  }
}
