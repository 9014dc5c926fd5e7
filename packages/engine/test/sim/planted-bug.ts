/**
 * Bugs that are planted to see whether the simulator finds them: each is put into a class of the
 * engine, and taken out again by what `plant` returns.
 */

import { MatchIndex } from "../../src/query/live/match-index.ts";
import { Judge } from "../../src/query/permission/judge.ts";
import { Store } from "../../src/store/store.ts";
import { Transaction } from "../../src/store/transaction.ts";
import type { UploadAnswer } from "../../src/store/upload.ts";
import { replace } from "../support/replaced-method.ts";

export interface PlantedBug {
  readonly name: string;
  /** Returns what mends it. */
  readonly plant: () => () => void;
  /** What it may be found by: a bug has to be found for what it is. */
  readonly shows: readonly string[];
}

export const PLANTED_BUGS: readonly PlantedBug[] = [
  {
    name: "an upload is acknowledged before it is applied",
    shows: ["an upload is acknowledged when it is applied", "nothing is told before it is durable"],
    plant: () =>
      replace(
        Store.prototype,
        "upload",
        (original) =>
          async function upload(this: Store, given, judge): Promise<UploadAnswer> {
            original.call(this, given, judge).catch(() => undefined);
            const { digest } = given;
            const record = { digest, txnId: this.txnId, outcome: "applied", reason: "" } as const;
            return { kind: "taken", record, isRepeat: false, documents: [] };
          },
      ),
  },
  {
    name: "the site of a merged change is lost",
    shows: ["the server is what its operations make"],
    plant: () =>
      replace(
        Transaction.prototype,
        "applyForeign",
        (original) =>
          function applyForeign(this: Transaction, stamp, operations) {
            return original.call(this, { ...stamp, site: "0000000000000001" }, operations);
          },
      ),
  },
  {
    name: "the permission on a changed document is skipped",
    shows: ["[S19] nobody is sent what he may not read"],
    plant: () => {
      let isOpen = false;
      const judged = replace(
        Judge.prototype,
        "mayRead",
        (original) =>
          function mayRead(this: Judge, ...args) {
            return isOpen || original.apply(this, args);
          },
      );
      const matched = replace(
        MatchIndex.prototype,
        "matchOf",
        (original) =>
          function matchOf(this: MatchIndex<unknown>, ...args) {
            isOpen = true;
            try {
              return original.apply(this, args);
            } finally {
              isOpen = false;
            }
          },
      );
      return () => {
        matched();
        judged();
      };
    },
  },
];
