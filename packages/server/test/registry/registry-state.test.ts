/**
 * The state of the registry as a number: what is remembered by it is never older than the store.
 */

import type { Store } from "@bigpeer/engine/store";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { runs } from "../../../protocol/test/support/test-size.ts";
import { RegistryState } from "../../src/registry/registry-state.ts";

/** A change, one that counts for nobody, one that was refused, to hear of the last one, to ask. */
const ACTIONS = ["change", "pass", "skip", "hear", "ask"] as const;

type Action = (typeof ACTIONS)[number];

/** A store of which the content is how often it was changed, and somebody who remembers that. */
class Remembered {
  readonly #store = { txnId: 0 };
  readonly #state = new RegistryState(this.#store as Store);
  #content = 0;
  /** Transactions to be passed over, of which nobody has heard yet. */
  readonly #unheard: number[] = [];
  #known: { readonly version: number; readonly content: number } | undefined;

  /** How often the content was read anew. */
  reads = 0;

  get content(): number {
    return this.#content;
  }

  do(action: Exclude<Action, "ask">): void {
    if (action === "hear") this.#hear();
    else this.#store.txnId++;
    if (action === "change") this.#content++;
    if (action === "pass") this.#unheard.push(this.#store.txnId);
  }

  /** The content as far as anybody knows. */
  ask(): number {
    const { version } = this.#state;
    if (this.#known?.version !== version) {
      this.#known = { version, content: this.#content };
      this.reads++;
    }
    return this.#known.content;
  }

  #hear(): void {
    const txnId = this.#unheard.shift();
    if (txnId !== undefined) this.#state.passOver(txnId);
  }
}

test("in any order of changes, ignored changes and reads, no stale state is returned", () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...ACTIONS), { maxLength: 60 }), (actions) => {
      const remembered = new Remembered();
      for (const action of [...actions, "ask" as const]) {
        if (action === "ask") expect(remembered.ask()).toBe(remembered.content);
        else remembered.do(action);
      }
    }),
    { numRuns: runs(5_000) },
  );
});

test("ignored changes keep the cached state, and all others make it read again", () => {
  const remembered = new Remembered();
  const readsAfter = (...actions: Action[]): number => {
    for (const action of actions) {
      if (action === "ask") remembered.ask();
      else remembered.do(action);
    }
    return remembered.reads;
  };
  expect(readsAfter("ask", "ask")).toBe(1);
  expect(readsAfter("pass", "hear", "ask")).toBe(1);
  expect(readsAfter("pass", "pass", "hear", "hear", "ask")).toBe(1);
  expect(readsAfter("change", "ask")).toBe(2);
  expect(readsAfter("change", "pass", "hear", "ask")).toBe(3);
  expect(readsAfter("pass", "change", "hear", "ask")).toBe(4);
});
