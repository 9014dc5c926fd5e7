/**
 * Gate: something that happens once, and that others wait for.
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
