/**
 * Keys: reads single keys from a terminal, without Enter.
 */

import { emitKeypressEvents } from "node:readline";
import type { ProgramHost } from "../program/host.ts";

type Input = ProgramHost["input"];

interface Key {
  readonly name?: string;
  readonly ctrl?: boolean;
}

/** As the terminal sends Ctrl-C and Ctrl-D while single keys are read. */
const ENDS = new Set(["c", "d"]);

export class Keys {
  readonly #input: Input;
  readonly #onKey: (text: string | undefined, key: Key) => void;

  /** `onKey` gets the letter, or `x` for Ctrl-C and Ctrl-D. */
  constructor(input: Input, onKey: (letter: string) => void) {
    this.#input = input;
    this.#onKey = (text, { name, ctrl }) => {
      if (ctrl === true && ENDS.has(name ?? "")) onKey("x");
      else if (text !== undefined && ctrl !== true) onKey(text.toLowerCase());
    };
    emitKeypressEvents(input);
    this.listen();
  }

  listen(): void {
    this.#input.setRawMode?.(true);
    this.#input.on("keypress", this.#onKey);
    this.#input.resume();
  }

  /** Leaves the terminal to others. */
  rest(): void {
    this.#input.off("keypress", this.#onKey);
    this.#input.setRawMode?.(false);
    this.#input.pause();
  }
}
