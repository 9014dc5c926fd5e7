/**
 * The law of indexes, asked of two stores: an index never changes an answer. One store has indexes,
 * complete ones and such as are being built; the other never had any. What is told is also
 * compared with the slow obvious evaluator.
 *
 * Rows are compared with their order. Warnings are not compared: who does not look at a row has none
 * about it.
 */

import { setImmediate } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import { type IndexOperation, PeerError, type Value, type ValueObject } from "@bigpeer/protocol";
import type { KeyValue } from "../../src/platform.ts";
import { Authority } from "../../src/query/permission/authority.ts";
import { StatementRunner } from "../../src/query/statement-runner.ts";
import { DROPPED_INDEXES, droppedIndexOfKey } from "../../src/store/keys.ts";
import { MemoryKeyValue } from "../../src/store/memory-key-value.ts";
import { Store } from "../../src/store/store.ts";
import { verify } from "../../src/store/verify.ts";
import { type Asked, COLLECTIONS, type IndexStep, type Rules, type Step } from "./index-script.ts";
import { differing, verdictOn } from "./index-verdict.ts";
import { waysIn } from "./index-ways.ts";
import { type Reply, replyOf } from "./permission-answer.ts";
import { CALLER } from "./permission-content.ts";
import { allows } from "./permission-peer.ts";
import { testPlatform } from "./test-platform.ts";

export interface PairOptions {
  readonly rules: Rules | undefined;
  /** Storage for the store with indexes; in memory unless given. */
  readonly storage?: () => KeyValue;
  /** The store builds its indexes by itself; else the script does, in pieces of its own. */
  readonly isBuiltBehind?: boolean;
}

interface Side {
  readonly storage: KeyValue;
  readonly store: Store;
  readonly runner: StatementRunner;
}

async function openSide(storage: KeyValue, isBuildHeld: boolean): Promise<Side> {
  const platform = testPlatform();
  const store = await Store.open(storage, platform, { isBuildHeld });
  return { storage, store, runner: new StatementRunner({ store, platform, appId: "index" }) };
}

/** How a question was answered. */
export interface Answer {
  readonly difference: string | undefined;
  /** What was told without indexes. */
  readonly reported: Reply;
  /** Whether the slow evaluator had a say. */
  readonly isChecked: boolean;
}

export class IndexPair {
  readonly #rules: Rules | undefined;
  readonly #authority: Authority | undefined;
  readonly #indexed: Side;
  readonly #plain: Side;
  /** Whether both held the same when they were last looked at, and nothing came since. */
  #isSame = false;

  private constructor(rules: Rules | undefined, indexed: Side, plain: Side) {
    this.#rules = rules;
    this.#authority = rules && new Authority({ ...rules, remoteQuery: false }, CALLER);
    this.#indexed = indexed;
    this.#plain = plain;
  }

  static async open({ rules, storage, isBuiltBehind = false }: PairOptions): Promise<IndexPair> {
    const indexed = await openSide(storage?.() ?? new MemoryKeyValue(), !isBuiltBehind);
    return new IndexPair(rules, indexed, await openSide(new MemoryKeyValue(), true));
  }

  /** Lets the script go on to the next question. */
  async prepare(step: Exclude<Step, Asked>): Promise<void> {
    const both = [this.#indexed, this.#plain];
    switch (step.kind) {
      case "put": {
        this.#isSame = false;
        const { collection, document, types } = step;
        const { _id: id, ...fields } = document;
        for (const { store } of both) {
          await store.transact((transaction) =>
            transaction.apply([{ kind: "insert", collection, id, fields, types }]),
          );
        }
        return;
      }
      case "touch":
        this.#isSame = false;
        for (const { runner } of both) await touch(runner, step);
        return;
      default:
        await changeIndexes(this.#indexed, step);
    }
  }

  async ask(step: Asked): Promise<Answer> {
    const readable = (collection: string): ValueObject[] => this.#readable(collection);
    // What was written may be out of sight of somebody with rules.
    const isBlind = this.#rules !== undefined && !isRead(step);
    const verdict = isBlind ? undefined : verdictOn(step, readable);
    const plain = await this.#answer(this.#plain, step);
    const indexed = await this.#answer(this.#indexed, step);
    const { error } = plain;
    // What else may be refused is not known to the slow evaluator.
    const isChecked =
      verdict !== undefined && (error === undefined || error === "query.evaluation");
    const difference =
      crashOf(plain) ??
      (isDeepStrictEqual(plain, indexed) ? undefined : differing("indexes", plain, indexed)) ??
      (isChecked ? verdict(plain, readable) : undefined) ??
      this.#leftDifference(step);
    return { difference, reported: plain, isChecked };
  }

  /** How the store with indexes comes to an answer, as it says; nothing for what has no plan. */
  async ways(step: Asked): Promise<ReadonlySet<string>> {
    const { runner } = this.#indexed;
    const authority = this.#authority;
    const explained = await replyOf(async () => {
      switch (step.kind) {
        case "statement": {
          const statement = `EXPLAIN ${step.statement}`;
          return { plan: (await runner.execute({ ...step, statement, authority })).items };
        }
        case "find":
        case "count":
          return { plan: (await runner.find({ ...step, isPlanWanted: true, authority })).plan };
        default:
          return {};
      }
    });
    return waysIn(explained["plan"] as Value | undefined);
  }

  get isBuilding(): boolean {
    return this.#indexed.store.read((view) =>
      [...view.indexes()].some(({ building }) => building !== undefined),
    );
  }

  /** Lets the store go on with an index by a piece or so. */
  async rest(): Promise<void> {
    await setImmediate();
  }

  /** Waits for a store that builds its indexes by itself. */
  async whenBuilt(): Promise<void> {
    await this.#indexed.store.whenIndexesReady();
  }

  /** What is wrong with the entries of the indexes. */
  problems(): string[] {
    const snapshot = this.#indexed.storage.snapshot();
    const { problems } = verify(snapshot);
    snapshot.close();
    return problems.map(({ key, message }) => `${key} ${message}`);
  }

  async close(): Promise<void> {
    for (const { store, storage } of [this.#indexed, this.#plain]) {
      await store.close();
      await storage.close();
    }
  }

  async #answer({ runner }: Side, step: Asked): Promise<Reply> {
    const authority = this.#authority;
    return replyOf(async () => {
      switch (step.kind) {
        case "statement": {
          const { queryType, items, mutatedDocumentIds } = await runner.execute({
            ...step,
            authority,
          });
          return { queryType, rows: items, ids: mutatedDocumentIds };
        }
        case "find":
          return { documents: (await runner.find({ ...step, authority })).documents };
        case "count":
          return { count: (await runner.count({ ...step, authority })).count };
        default:
          return { results: (await runner.write({ ...step, authority })).results };
      }
    });
  }

  /** What the two stores hold after a question that may have changed something. */
  #leftDifference(step: Asked): string | undefined {
    if (isRead(step) && this.#isSame) return undefined;
    for (const collection of COLLECTIONS) {
      const [plain, indexed] = [this.#plain, this.#indexed].map(({ store }) =>
        store.read((view) => [...view.scan(collection)]),
      );
      if (isDeepStrictEqual(plain, indexed)) continue;
      return differing(`what is left in ${collection}`, plain, indexed);
    }
    this.#isSame = true;
    return undefined;
  }

  #readable(collection: string): ValueObject[] {
    const documents = this.#plain.store.read((view) => [...view.scan(collection)]);
    const read = this.#rules?.read;
    return documents
      .filter((document) => read === undefined || allows(read, { ...document, collection }))
      .map(({ id, fields }) => ({ _id: id, ...fields }));
  }
}

function crashOf({ crash }: Reply): string | undefined {
  return typeof crash === "string" ? `crashes: ${crash}` : undefined;
}

function isRead(step: Asked): boolean {
  return step.kind === "statement" ? step.statement.startsWith("SELECT") : step.kind !== "write";
}

/** What a document cannot take it takes nowhere. */
async function touch(
  runner: StatementRunner,
  { statement, args }: Extract<Step, { readonly kind: "touch" }>,
): Promise<void> {
  try {
    await runner.execute({ statement, args });
  } catch (error) {
    if (!(error instanceof PeerError)) throw error;
  }
}

async function changeIndexes({ store, runner }: Side, step: IndexStep): Promise<void> {
  if (step.kind === "index") {
    await runner.execute(step);
    return;
  }
  await store.transact((transaction) => {
    const { view } = transaction;
    switch (step.kind) {
      case "begin": {
        const { kind: _, ...rest } = step;
        transaction.apply([{ kind: "create_index", ...rest }]);
        return;
      }
      case "drop": {
        const { collection, name, limit } = step;
        if (view.index(collection, name) === undefined) return;
        transaction.apply([{ kind: "drop_index", collection, name, limit }]);
        return;
      }
      default: {
        const { limit } = step;
        const operations: IndexOperation[] = [];
        for (const { collection, name, building } of view.indexes()) {
          if (building === undefined) continue;
          operations.push({ kind: "build_index", collection, name, limit });
        }
        for (const key of view.reader.keys(DROPPED_INDEXES)) {
          operations.push({ kind: "clear_index", number: droppedIndexOfKey(key), limit });
        }
        for (const operation of operations) transaction.apply([operation]);
      }
    }
  });
}
