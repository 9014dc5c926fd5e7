/**
 * Bugs that are planted to see whether the simulator of links finds them.
 */

import { documentId } from "@bigpeer/protocol";
import { LinkSweep } from "../../src/link/link-sweep.ts";
import { LinkTarget } from "../../src/link/link-target.ts";
import { Transaction } from "../../src/store/transaction.ts";
import { replace } from "../support/replaced-method.ts";
import type { PlantedBug } from "./planted-bug.ts";

export const PLANTED_LINK_BUGS: readonly PlantedBug[] = [
  {
    name: "a cursor is written before what it covers is merged",
    shows: [
      "[S54] who says that he has it has what matches",
      "[S51] what left has come once more",
      "[S51] each deletion of a followed collection comes",
    ],
    plant: () =>
      replace(
        LinkTarget.prototype,
        "documents",
        (original) =>
          function documents(this: LinkTarget, message, bytes) {
            const { committed, ...rest } = message;
            if (committed !== undefined) this.committed(committed);
            original.call(this, rest, bytes);
          },
      ),
  },
  {
    name: "the deletion of a document that never came is not kept",
    shows: ["[S51] each deletion of a followed collection comes"],
    plant: () => {
      const known = new WeakMap<LinkTarget, Set<string>>();
      return replace(
        LinkTarget.prototype,
        "documents",
        (original) =>
          function documents(this: LinkTarget, message, bytes) {
            const seen = known.get(this) ?? new Set<string>();
            known.set(this, seen);
            const entries = message.entries.filter(([kind, id]) => {
              const { key } = documentId(id);
              if (kind === "put") seen.add(key);
              return kind !== "deleted" || seen.has(key);
            });
            original.call(this, { ...message, entries }, bytes);
          },
      );
    },
  },
  {
    name: "it is forgotten from where a transaction came",
    shows: [
      "[S53] nothing is told to whom it came from",
      "[S52] what is merged has come over a link",
    ],
    plant: () => replace(Transaction.prototype, "markVia", () => () => undefined),
  },
  {
    name: "what is not in a fill is not asked for",
    // What was deleted and made anew meanwhile is not in the fill either.
    shows: [
      "[S51] what left has come once more",
      "[S51] each deletion of a followed collection comes",
    ],
    plant: () => replace(LinkSweep.prototype, "add", () => () => undefined),
  },
];
