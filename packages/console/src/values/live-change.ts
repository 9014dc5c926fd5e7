/**
 * Changes of documents as they are shown: what happened, who did it, and which fields are others now.
 */
import { stringifyExact } from "@bigpeer/client/exact-json";

export const CHANGE_TYPES = ["insert", "update", "delete", "leave"] as const;

export type ChangeType = (typeof CHANGE_TYPES)[number];

export interface ChangeWriter {
  readonly credential?: string;
  readonly provider?: string;
  readonly user?: string;
  readonly peer?: string;
}

export type Fields = Readonly<Record<string, unknown>>;

/** A line of the change feed. */
export interface ChangeLine {
  readonly type: ChangeType;
  readonly collection: string;
  readonly id: unknown;
  readonly txnId: number;
  readonly at: string;
  readonly by: ChangeWriter | null;
  readonly document?: Fields;
  readonly before?: Fields;
}

export interface LiveChange extends ChangeLine {
  /** Different for each that is shown. */
  readonly key: number;
  /** Characters of its line. */
  readonly size: number;
}

export type Marker =
  | { readonly marker: "ready" | "transaction" | "heartbeat" }
  | { readonly marker: "end"; readonly reason: string; readonly message?: string };

export function isChange(line: ChangeLine | Marker): line is ChangeLine {
  return "type" in line;
}

export interface FieldChange {
  /** Such as `owner.city`. */
  readonly path: string;
  /** Undefined if it was not there. */
  readonly before: unknown;
  readonly after: unknown;
}

/** The fields that differ, in the order of the document. Arrays are compared as a whole. */
export function changedFields(before: Fields, after: Fields, prefix = ""): FieldChange[] {
  const names = new Set([...Object.keys(after), ...Object.keys(before)]);
  return [...names].flatMap((name): FieldChange[] => {
    const path = prefix === "" ? name : `${prefix}.${name}`;
    const [old, now] = [ownValue(before, name), ownValue(after, name)];
    if (isFields(old) && isFields(now)) return changedFields(old, now, path);
    return isEqual(old, now) ? [] : [{ path, before: old, after: now }];
  });
}

function ownValue(fields: Fields, name: string): unknown {
  return Object.hasOwn(fields, name) ? fields[name] : undefined;
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isEqual(a: unknown, b: unknown): boolean {
  return a === b || stringifyExact(a) === stringifyExact(b);
}

const KEY_LENGTH_SHOWN = 12;

/** Who wrote it; a dash if that is not known. */
export function writerName(by: ChangeWriter | null): string {
  if (by === null) return "—";
  const { credential, provider, user, peer } = by;
  if (credential !== undefined) return credential;
  if (user !== undefined) return provider === undefined ? user : `${user} of ${provider}`;
  if (peer === undefined) return provider ?? "—";
  return peer.length > KEY_LENGTH_SHOWN + 1 ? `${peer.slice(0, KEY_LENGTH_SHOWN)}…` : peer;
}

export type ChangeCounts = Readonly<Record<ChangeType, number>>;

export const NO_CHANGES: ChangeCounts = { insert: 0, update: 0, delete: 0, leave: 0 };

export function addCounts(counts: ChangeCounts, changes: readonly ChangeLine[]): ChangeCounts {
  const sum = { ...counts };
  for (const { type } of changes) sum[type]++;
  return sum;
}

/** `12 changes: 10 inserts, 2 updates`. */
export function countsText(counts: ChangeCounts): string {
  const total = CHANGE_TYPES.reduce((sum, type) => sum + counts[type], 0);
  const parts = CHANGE_TYPES.filter((type) => counts[type] > 0).map((type) => {
    return `${counts[type]} ${type}${counts[type] === 1 ? "" : "s"}`;
  });
  if (total === 0) return "no changes";
  return `${total} ${total === 1 ? "change" : "changes"}: ${parts.join(", ")}`;
}

/** The newest first, within bounds. */
export function addChanges(
  shown: readonly LiveChange[],
  arrived: readonly LiveChange[],
): readonly LiveChange[] {
  const kept: LiveChange[] = [];
  let size = 0;
  for (const change of [...arrived.toReversed(), ...shown]) {
    size += change.size;
    if (kept.length >= SHOWN_MAX || (size > SIZE_MAX && kept.length > 0)) break;
    kept.push(change);
  }
  return kept;
}

export const SHOWN_MAX = 500;

/** Characters of all lines that are kept. */
const SIZE_MAX = 20_000_000;
