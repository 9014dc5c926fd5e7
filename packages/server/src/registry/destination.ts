/**
 * Destination: where the server delivers changes of an app by itself, a webhook or a sink; and the
 * checks of what both have in common: which changes they get, and from which position on.
 */

import { checkFilter } from "@bigpeer/engine/query";
import { checkCollection, isArray, type Value, type ValueObject } from "@bigpeer/protocol";
import { checked, RegistryFault } from "./registry-fault.ts";

export const CHANGE_TYPES = ["insert", "update", "delete", "leave"] as const;

export type ChangeEvent = (typeof CHANGE_TYPES)[number];

/** Where deliveries begin. Another id makes them begin again. */
export interface DeliveryStart {
  readonly id: string;
  /** Position in the changes of the app; absent: where they stopped. */
  readonly cursor?: string;
}

export interface Destination {
  /** Never used again, unlike the name. */
  readonly id: string;
  readonly appId: string;
  /** Unique within the app, among those of its kind. */
  readonly name: string;
  readonly collection: string;
  /** A filter; absent: all documents of the collection. */
  readonly query?: string;
  /** Absent: all. */
  readonly events?: readonly ChangeEvent[];
  readonly isPaused: boolean;
  readonly start: DeliveryStart;
}

/** An absent field stays as it is; null restores the default. */
export interface DestinationChange {
  readonly collection?: string | null;
  readonly query?: string | null;
  readonly events?: readonly ChangeEvent[] | null;
}

/** The fields of a destination that say which changes it gets. */
export type Selection = Pick<Destination, "collection" | "query" | "events">;

/** Virtual collections of the server, which have no changes. */
const SYSTEM = /^system:/;

/** Throws InvalidRequest. `before` is absent for a new destination. */
export function changedSelection(
  before: Selection | undefined,
  change: DestinationChange,
): Selection {
  const collection = change.collection ?? before?.collection;
  if (collection === undefined) throw missing("a collection", "collection");
  checkWatched(collection);
  const query = change.query === undefined ? before?.query : (change.query ?? undefined);
  if (query !== undefined) checked(() => checkFilter(query, "query"));
  const events =
    change.events === undefined ? before?.events : checkedEvents(change.events ?? CHANGE_TYPES);
  return {
    collection,
    ...(query !== undefined && { query }),
    ...(events !== undefined && { events }),
  };
}

/** Reads what is stored; undefined when it has another form. */
export function storedDestination(id: Value, fields: ValueObject): Destination | undefined {
  const { appId, name, collection, query, events, isPaused, start } = fields;
  const begin = storedStart(start);
  if (
    typeof id !== "string" ||
    typeof appId !== "string" ||
    typeof name !== "string" ||
    typeof collection !== "string" ||
    typeof isPaused !== "boolean" ||
    begin === undefined
  ) {
    return undefined;
  }
  return {
    id,
    appId,
    name,
    collection,
    isPaused,
    start: begin,
    ...(typeof query === "string" && { query }),
    ...(isArray(events) && { events: events as unknown as readonly ChangeEvent[] }),
  };
}

export function missing(what: string, at: string): RegistryFault {
  return new RegistryFault("InvalidRequest", `expected ${what}, found nothing at ${at}`);
}

function storedStart(value: Value | undefined): DeliveryStart | undefined {
  const { id, cursor } = (value ?? {}) as { readonly id?: Value; readonly cursor?: Value };
  if (typeof id !== "string") return undefined;
  return typeof cursor === "string" ? { id, cursor } : { id };
}

function checkWatched(collection: string): void {
  checked(() => checkCollection(collection, "collection"));
  if (!SYSTEM.test(collection)) return;
  const expected = "a collection of documents, found one of the system";
  throw new RegistryFault("InvalidRequest", `expected ${expected} at collection`);
}

/** In their usual order, without duplicates; undefined for all of them. */
function checkedEvents(events: readonly ChangeEvent[]): readonly ChangeEvent[] | undefined {
  if (events.length === 0) throw missing(`some of ${CHANGE_TYPES.join(", ")}`, "events");
  const wanted = CHANGE_TYPES.filter((type) => events.includes(type));
  return wanted.length === CHANGE_TYPES.length ? undefined : wanted;
}
