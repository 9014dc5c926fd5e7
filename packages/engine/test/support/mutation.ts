/**
 * Mutations without a parser: one collection in a store in memory, and the calls that a statement
 * would make on it. Each call is one transaction.
 */

import type { Types, Value } from "@bigpeer/protocol";
import { Budget } from "../../src/query/frame/budget.ts";
import type { Evaluate, Frame, Run } from "../../src/query/frame/frame.ts";
import { finish } from "../../src/query/frame/steps.ts";
import type { MutationContext } from "../../src/query/mutate/application.ts";
import { type InsertPlan, insertDocuments } from "../../src/query/mutate/insert.ts";
import { type RemovePlan, removeDocuments } from "../../src/query/mutate/remove.ts";
import { type UpdatePlan, updateDocuments } from "../../src/query/mutate/update.ts";
import { getDocument } from "../../src/query/run/declared-read.ts";
import type { MutationOutcome, Typing } from "../../src/query/run/execution.ts";
import { Warnings } from "../../src/query/run/warnings.ts";
import { Settings } from "../../src/query/system/settings.ts";
import type { Datum, Outcome } from "../../src/query/value/datum.ts";
import type { Transaction } from "../../src/store/transaction.ts";
import type { StoredDocument } from "../../src/store/view.ts";
import { type OpenStore, openStore } from "./open-store.ts";

export const COLLECTION = "c";

/** How a statement reads and writes: strict or not, and what it declares. */
export function typing(types?: Types, isStrict = false): Typing {
  return { isStrict, types };
}

export const LAX: Typing = typing();
export const STRICT: Typing = typing(undefined, true);

/** The parts of an UPDATE: paths as text with dots, values or expressions. */
export interface Changes {
  readonly apply?: readonly (readonly [string, "increment" | "pn_increment" | "restart", Right?])[];
  readonly set?: readonly (readonly [string, Right])[];
  readonly unset?: readonly string[];
  readonly typing?: Typing;
}

export type Right = Outcome | Evaluate;

/** The fields of the row, as expressions see them. */
export function field(name: string): (frame: Frame) => Value | undefined {
  return ({ slots }) => (slots[0] as StoredDocument).fields[name];
}

export class MutationDesk {
  readonly #open: OpenStore;
  readonly #run: Run;
  readonly settings: Settings = new Settings();
  warnings: Warnings = new Warnings();

  private constructor(open: OpenStore) {
    this.#open = open;
    this.#run = {
      args: {},
      platform: open.platform,
      budget: new Budget({ elapsed: () => 0, timeMsMax: 1000, bytesMax: 2 ** 30 }),
      request: { id: "r", appId: "a", startMs: open.platform.nowMs },
    };
  }

  static async open(...documents: Datum[]): Promise<MutationDesk> {
    const desk = new MutationDesk(await openStore());
    if (documents.length > 0) await desk.insert(documents);
    return desk;
  }

  get store(): OpenStore["store"] {
    return this.#open.store;
  }

  get storage(): OpenStore["storage"] {
    return this.#open.storage;
  }

  insert(rows: readonly Outcome[], plan: Partial<InsertPlan> = {}): Promise<MutationOutcome> {
    const whole: InsertPlan = {
      collection: COLLECTION,
      typing: LAX,
      isInitial: false,
      conflict: "fail",
      isReturning: true,
      at: 7,
      ...plan,
    };
    return this.#transact((execution) => finish(insertDocuments(whole, rows, execution)));
  }

  /** Updates the documents with these ids, in this order; all of them when none is named. */
  update(changes: Changes, ids?: readonly Value[]): Promise<MutationOutcome> {
    const { apply = [], set = [], unset = [] } = changes;
    const plan: UpdatePlan = {
      collection: COLLECTION,
      slot: 0,
      typing: changes.typing ?? LAX,
      apply: apply.map(([path, method, right], at) => ({
        ...target(path, at),
        method,
        ...(right === undefined ? {} : { value: evaluateOf(right) }),
      })),
      set: set.map(([path, right], at) => ({ ...target(path, at + 10), value: evaluateOf(right) })),
      unset: unset.map((path, at) => target(path, at + 20)),
      isReturning: true,
    };
    return this.#transact((execution, transaction) =>
      finish(updateDocuments(plan, this.#rows(transaction, plan.typing, ids), execution)),
    );
  }

  remove(method: RemovePlan["method"], ids?: readonly Value[]): Promise<MutationOutcome> {
    const plan: RemovePlan = { collection: COLLECTION, slot: 0, method };
    return this.#transact((execution, transaction) =>
      finish(removeDocuments(plan, this.#rows(transaction, LAX, ids), execution)),
    );
  }

  /** A document as a statement with this typing sees it. */
  read(id: Value, as: Typing = LAX): Value | undefined {
    return this.store.read((view) => getDocument(id, as, { view, collection: COLLECTION })?.fields);
  }

  ids(): Value[] {
    return this.store.read((view) => [...view.scan(COLLECTION)].map(({ id }) => id));
  }

  async #transact(
    work: (execution: MutationContext, transaction: Transaction) => MutationOutcome,
  ): Promise<MutationOutcome> {
    this.warnings = new Warnings();
    const { result } = await this.store.transact((transaction) =>
      work(
        {
          run: this.#run,
          view: transaction.view,
          checker: undefined,
          transaction,
          warnings: this.warnings,
          system: { settings: this.settings },
        },
        transaction,
      ),
    );
    return result;
  }

  #rows({ view }: Transaction, as: Typing, ids: readonly Value[] | undefined): Frame[] {
    const place = { view, collection: COLLECTION };
    const all = ids ?? [...view.scan(COLLECTION)].map(({ id }) => id);
    const documents = all.flatMap((id) => getDocument(id, as, place) ?? []);
    return documents.map((document) => ({ run: this.#run, slots: [document] }));
  }
}

function target(path: string, at: number): { path: string[]; at: number } {
  return { path: path.split("."), at };
}

function evaluateOf(right: Right): Evaluate {
  return typeof right === "function" ? right : () => right;
}
