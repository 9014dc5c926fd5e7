/**
 * Delivery journal: how far the changes of an app were delivered, and its dead letters, in the
 * catalog of the store of the app. So a backup has them together with the changes, and every node
 * of a cluster has them.
 *
 * Before a batch is sent, its end is written. After a crash the same changes form the same batch
 * again, with the same id.
 */

import type { Store, View } from "@bigpeer/engine/store";
import { type CatalogOperation, isObject, type Value } from "@bigpeer/protocol";
import type { Destination } from "../registry/destination.ts";

/** Why deliveries do not go on by themselves. */
export type StopReason = "history_changed" | "log_trimmed" | "gone" | "dead_letters_full";

export interface DeliveryRecord {
  /** Id of the start that it belongs to. */
  readonly start: string;
  /** Everything up to here was delivered, or is a dead letter. */
  readonly cursor: string;
  /** The batch that is being sent: the position of its last change, and the selection it is of. */
  readonly sending?: { readonly to: string; readonly of: string };
  readonly stopped?: { readonly reason: StopReason; readonly atMs: number };
}

/** A delivery that was given up. */
export interface DeadLetter {
  /** Increases with each letter. */
  readonly id: string;
  readonly atMs: number;
  readonly attempts: number;
  readonly error: string;
  readonly messageId: string;
  readonly payload: string;
  /** Number of changes in it. */
  readonly changes: number;
}

const RECORDS = "deliveries";
const ID_DIGITS = 12;

export class DeliveryJournal {
  readonly #store: Pick<Store, "read" | "transact">;
  /** Transactions that deliveries of the app made, which are no news for them. */
  #writes = 0;

  constructor(store: Pick<Store, "read" | "transact">) {
    this.#store = store;
  }

  get writes(): number {
    return this.#writes;
  }

  record(id: string): DeliveryRecord | undefined {
    return this.#store.read((view) => recordOf(view.catalog(RECORDS, id)));
  }

  write(id: string, record: DeliveryRecord): Promise<void> {
    return this.#apply(() => [put(RECORDS, id, { ...record })]);
  }

  /** Adds a dead letter and moves the position beyond it. False when there are too many. */
  async bury(
    id: string,
    record: DeliveryRecord,
    letter: Omit<DeadLetter, "id">,
    max: number,
  ): Promise<boolean> {
    let isDone = false;
    await this.#apply((view) => {
      const names = [...view.catalogNames(lettersOf(id))];
      isDone = names.length < max;
      if (!isDone) return [];
      const next = String(Number(names.at(-1) ?? 0) + 1).padStart(ID_DIGITS, "0");
      return [put(lettersOf(id), next, { ...letter }), put(RECORDS, id, { ...record })];
    });
    return isDone;
  }

  letterCount(id: string): number {
    return this.#store.read((view) => [...view.catalogNames(lettersOf(id))].length);
  }

  /** The oldest first. */
  letterIds(id: string): readonly string[] {
    return this.#store.read((view) => [...view.catalogNames(lettersOf(id))]);
  }

  letter(id: string, letterId: string): DeadLetter | undefined {
    return this.#store.read((view) => {
      return letterOf(letterId, view.catalog(lettersOf(id), letterId));
    });
  }

  /** Replaces a letter, unless it was removed meanwhile. */
  updateLetter(id: string, { id: letterId, ...fields }: DeadLetter): Promise<void> {
    return this.#apply((view) => {
      const isThere = view.catalog(lettersOf(id), letterId) !== undefined;
      return isThere ? [put(lettersOf(id), letterId, fields)] : [];
    });
  }

  removeLetter(id: string, letterId: string): Promise<void> {
    return this.#apply(() => [put(lettersOf(id), letterId, null)]);
  }

  /** Removes what belongs to deleted webhooks and sinks. */
  async remove(isDeleted: (id: string) => boolean): Promise<void> {
    const deleted = (view: View): string[] => [...view.catalogNames(RECORDS)].filter(isDeleted);
    if (this.#store.read(deleted).length === 0) return;
    await this.#apply((view) => {
      return deleted(view).flatMap((id) => [
        put(RECORDS, id, null),
        ...Array.from(view.catalogNames(lettersOf(id)), (name) => put(lettersOf(id), name, null)),
      ]);
    });
  }

  async #apply(decide: (view: View) => readonly CatalogOperation[]): Promise<void> {
    await this.#store.transact((transaction) => {
      transaction.apply(decide(transaction.view));
    });
    this.#writes++;
  }
}

/** Where it goes on: at its start if that is new, otherwise where it was. */
export function beginOf(
  { start }: Pick<Destination, "start">,
  record: DeliveryRecord | undefined,
): DeliveryRecord {
  if (record !== undefined && record.start === start.id) return record;
  if (start.cursor !== undefined) return { start: start.id, cursor: start.cursor };
  const { cursor = OLDEST, sending } = record ?? {};
  return { start: start.id, cursor, ...(sending !== undefined && { sending }) };
}

/** The oldest position of the log. */
export const OLDEST = "0";

/** The transaction of a position. */
export function txnIdOf(cursor: string): number {
  return Number(cursor.split(".")[1] ?? 0);
}

/** Whether a position comes after another one of the same history. */
export function isAfter(cursor: string, other: string): boolean {
  const [txnId, otherId] = [txnIdOf(cursor), txnIdOf(other)];
  return txnId === otherId ? indexOf(cursor) > indexOf(other) : txnId > otherId;
}

/** A position without an index is that after the whole transaction. */
function indexOf(cursor: string): number {
  return Number(cursor.split(".")[2] ?? Number.POSITIVE_INFINITY);
}

function lettersOf(id: string): string {
  return `dead_letters/${id}`;
}

function put(section: string, name: string, value: Value): CatalogOperation {
  return { kind: "catalog", section, name, value };
}

function recordOf(value: Value | undefined): DeliveryRecord | undefined {
  return isObject(value) ? (value as unknown as DeliveryRecord) : undefined;
}

function letterOf(id: string, value: Value | undefined): DeadLetter | undefined {
  return isObject(value) ? ({ id, ...value } as unknown as DeadLetter) : undefined;
}
