/**
 * Bugs that are planted to see whether the simulator finds them: each is put into a class of the
 * engine, and taken out again by what `plant` returns.
 */

import { PeerStore } from "../../src/peer/peer-store.ts";
import { RunningStatements } from "../../src/peer/running-statements.ts";
import type { KeyValue } from "../../src/platform.ts";
import { MatchIndex } from "../../src/query/live/match-index.ts";
import { Transaction } from "../../src/store/transaction.ts";
import type { UploadAnswer } from "../../src/store/upload.ts";
import { PresenceBoard } from "../../src/sync/device/presence-board.ts";
import { Progress } from "../../src/sync/stream/progress.ts";
import { SyncServer } from "../../src/sync/sync-server.ts";
import { plantOpenChecker, unchecked } from "../support/open-checker.ts";
import { all, replace } from "../support/replaced-method.ts";

export interface PlantedBug {
  readonly name: string;
  /** Returns what mends it. */
  readonly plant: () => () => void;
  /** What it may be found by: a bug has to be found for what it is. */
  readonly shows: readonly string[];
}

export const PLANTED_BUGS: readonly PlantedBug[] = [
  {
    name: "a peer's own writes and outcomes are relaxed commits",
    shows: ["a write that was answered has an outcome"],
    plant: () =>
      replace(
        PeerStore,
        "open",
        (original) =>
          function open(this: typeof PeerStore, storage, platform, options) {
            const relaxed: KeyValue = {
              snapshot: () => storage.snapshot(),
              commit: (writes) => storage.commit(writes, { durability: "relaxed" }),
              close: () => storage.close(),
            };
            return original.call(this, relaxed, platform, options);
          },
      ),
  },
  {
    name: "an upload is acknowledged before it is applied",
    shows: ["an upload is acknowledged when it is applied", "nothing is told before it is durable"],
    plant: () =>
      replace(
        SyncServer.prototype,
        "upload",
        (original) =>
          async function upload(this: SyncServer, asked): Promise<UploadAnswer> {
            original.call(this, asked).catch(() => undefined);
            const { digest } = asked.upload;
            const { txnId } = this.store;
            const record = { digest, txnId, outcome: "applied", reason: "" } as const;
            return { kind: "taken", record, isReplay: false, documents: [] };
          },
      ),
  },
  {
    name: "the site of a merged change is lost",
    shows: ["the server is what its operations make", "[S35] what was applied still shows"],
    plant: () =>
      replace(
        Transaction.prototype,
        "applyForeignInSteps",
        (original) =>
          function applyForeignInSteps(this: Transaction, stamp, operations) {
            return original.call(this, { ...stamp, site: "0000000000000001" }, operations);
          },
      ),
  },
  {
    name: "the permission on a changed document is skipped",
    shows: ["[S19] nobody is sent what he may not read"],
    plant: () =>
      all(
        plantOpenChecker(),
        replace(
          MatchIndex.prototype,
          "matchOf",
          (original) =>
            function matchOf(this: MatchIndex<unknown>, ...args) {
              return unchecked(() => original.apply(this, args));
            },
        ),
      ),
  },
  {
    name: "what changed before a fill goes on is not told",
    shows: [
      "[S35] what was applied still shows",
      "[S36] what no subscription covers is let go of",
      "who follows a document has it as the server has it",
    ],
    plant: () =>
      replace(
        Progress,
        "ofInterruptedFill",
        (original) =>
          function ofInterruptedFill(this: typeof Progress, through, _txn) {
            return original.call(this, through, Number.MAX_SAFE_INTEGER);
          },
      ),
  },
  {
    name: "the rest of a fill that was cut is not asked for",
    shows: [
      "[S36] what no subscription covers is let go of",
      "who follows a document has it as the server has it",
    ],
    plant: () =>
      replace(
        PeerStore.prototype,
        "subscription",
        (original) =>
          function subscription(this: PeerStore, query, args) {
            const known = original.call(this, query, args);
            if (known.cursor === undefined) return known;
            const { after: _, ...cursor } = known.cursor;
            return { ...known, cursor };
          },
      ),
  },
  {
    name: "what became of a written document is not taken with its outcome",
    shows: ["[S35] what was applied still shows"],
    plant: () =>
      replace(
        PeerStore.prototype,
        "apply",
        (original) =>
          function apply(this: PeerStore, batch) {
            const outcomes = batch.outcomes.map((outcome) => ({ ...outcome, documents: [] }));
            return original.call(this, { ...batch, outcomes });
          },
      ),
  },
  {
    name: "an answer goes out under the number of the newest run",
    // A statement that the server takes for answered is not cancelled: it goes on.
    shows: [
      "an answer is what the peer said to this run",
      "[S46] nothing of a run is left on a peer",
    ],
    plant: () => {
      const newest = new WeakMap<RunningStatements, number>();
      return replace(
        RunningStatements.prototype,
        "start",
        (original) =>
          function start(this: RunningStatements, run, bytesMax, answer) {
            newest.set(this, run.id);
            original.call(this, run, bytesMax, (message) => {
              answer({ ...message, id: newest.get(this) ?? message.id });
            });
          },
      );
    },
  },
  {
    name: "a statement that was cancelled goes on",
    shows: ["[S46] nothing of a run is left on a peer"],
    plant: () => replace(RunningStatements.prototype, "cancel", () => () => undefined),
  },
  {
    name: "a peer that is gone stays among those who are there",
    shows: ["[S41] who watches knows who is there", "[S40] the host is told who is connected"],
    plant: () =>
      replace(
        PresenceBoard.prototype,
        "leave",
        () =>
          function leave(this: PresenceBoard, session) {
            this.watch(session, false);
          },
      ),
  },
  {
    name: "what a peer says anew of itself is not passed on",
    shows: ["[S41] who watches knows who is there", "[S40] the host is told who is connected"],
    plant: () => replace(PresenceBoard.prototype, "change", () => () => undefined),
  },
];
