/**
 * The oracle: run all operations in the order of their stamps, and look at what is there (D13).
 *
 * A sequential interpreter over plain, mutable content: no stamps are stored but the number of the
 * step that wrote last, nothing is merged, nothing is normal. Each operation knows which operations
 * its writer had seen; what the writer saw is the oracle itself, run over those alone.
 *
 * "Running in stamp order" needs these sentences to be exact. The first three are the exceptions
 * that D13 states, the others are corners of the definition:
 *
 *   1. An insert of a document that is there sets its fields, and nothing else ends (first inserts).
 *   2. Increments add up; an increment that had not seen a restart, an UNSET on its path, a delete or
 *      a clean insert newer than all those that it had seen, is ended by it, though it is later.
 *   3. An upsert whose writer saw the document is an update, also where a delete comes first.
 *   4. What an operation does is what its writer's view made of it: an insert is clean or not, an
 *      UNSET below something that is no map is nothing, whatever the merged document was by then.
 *   5. A clean insert ends what came before its tick, not what other sites wrote in the same tick.
 *   6. Updates of a deleted document stay hidden, and an insert that knew neither the delete nor
 *      them brings them to light.
 *   7. INITIAL runs before everything; between INITIALs, and only there, canonical bytes decide.
 */

import type { Edit, Stamp, TypeMark, Value, ValueObject } from "@bigpeer/protocol";
import type { InsertIntent, Intent } from "./history.ts";
import { canonicalHex } from "./model.ts";

export interface OracleWrite {
  readonly index: number;
  readonly stamp: Stamp;
  readonly intent: Intent;
  readonly seen: ReadonlySet<number>;
}

/** What the document shows after all writes; undefined for MISSING. */
export function oracleOf(writes: readonly OracleWrite[]): Value | undefined {
  return contentOf(runAll(effectsOf(writes)));
}

// What each write comes to in the eyes of its writer.

type Effect =
  | { readonly kind: "insert"; readonly order: number; readonly intent: InsertIntent }
  | { readonly kind: "end"; readonly order: number }
  | { readonly kind: "update"; readonly order: number; readonly edits: readonly PlacedEdit[] };

/** An edit with the newest thing that its writer knew to have started or ended its counter. */
interface PlacedEdit {
  readonly edit: Edit;
  readonly birth: number;
}

function effectsOf(writes: readonly OracleWrite[]): Effect[] {
  const order = new StampOrder(writes);
  const effects: Effect[][] = [];
  // A writer sees only earlier writes, so their effects are known.
  for (const write of writes) {
    const seen = [...write.seen].flatMap((index) => effects[index] ?? []);
    effects[write.index] = effectOf(write, seen, order);
  }
  return effects.flat();
}

/** Stamps as their numbers in a row: 0 for ZERO, even ones for the start of a tick (5.). */
class StampOrder {
  readonly #ranks: ReadonlyMap<string, number>;

  constructor(writes: readonly OracleWrite[]) {
    const names = new Set(writes.flatMap(({ stamp }) => [nameOf(stamp), startOf(stamp)]));
    this.#ranks = new Map([...names].sort().map((name, i) => [name, i + 1]));
  }

  of(stamp: Stamp): number {
    return this.#ranks.get(nameOf(stamp)) ?? 0;
  }

  ofStart(stamp: Stamp): number {
    return this.#ranks.get(startOf(stamp)) ?? 0;
  }
}

function nameOf(stamp: Stamp): string {
  return `${String(stamp.time).padStart(9, "0")} ${stamp.site}`;
}

function startOf(stamp: Stamp): string {
  return `${String(stamp.time).padStart(9, "0")} `;
}

function effectOf(write: OracleWrite, seen: readonly Effect[], stamps: StampOrder): Effect[] {
  const { intent, stamp } = write;
  const view = runAll(seen);
  const order = stamps.of(stamp);
  switch (intent.kind) {
    case "insert":
      return view.exists ? [] : insertEffects(intent, seen, order, stamps.ofStart(stamp));
    case "upsert":
      return view.exists
        ? updateEffects(fieldEdits(intent), view, seen, order)
        : insertEffects(intent, seen, order, stamps.ofStart(stamp));
    case "initial": {
      const isKnownDead = seen.some(({ kind }) => kind === "end");
      return view.exists || isKnownDead ? [] : [{ kind: "insert", order: 0, intent }];
    }
    case "delete":
      return view.exists ? [{ kind: "end", order }] : [];
    default:
      return view.exists ? updateEffects(intent.edits, view, seen, order) : [];
  }
}

/** An insert is clean when its writer saw anything at all of a document that does not show. */
function insertEffects(
  intent: InsertIntent,
  seen: readonly Effect[],
  order: number,
  start: number,
): Effect[] {
  const insert: Effect = { kind: "insert", order, intent };
  return seen.length > 0 ? [{ kind: "end", order: start }, insert] : [insert];
}

function updateEffects(
  edits: readonly Edit[],
  view: Content,
  seen: readonly Effect[],
  order: number,
): Effect[] {
  const effective = edits.filter((edit) => {
    return edit.kind !== "unset" || isMapAt(view.root, edit.path.slice(0, -1));
  });
  const placed = effective.map((edit) => ({ edit, birth: birthOf(edit, seen) }));
  return placed.length === 0 ? [] : [{ kind: "update", order, edits: placed }];
}

/** The order of the newest insert, UNSET on the path or restart among what was seen. */
function birthOf(edit: Edit, seen: readonly Effect[]): number {
  if (edit.kind !== "increment") return 0;
  const orders = seen.flatMap((effect) => {
    return effect.kind === "insert" || hasEnded(effect, edit) ? [effect.order] : [];
  });
  return Math.max(0, ...orders);
}

/** Whether an effect ends the counter that an increment adds to. */
function hasEnded(effect: Effect, increment: Edit): boolean {
  if (effect.kind === "end") return true;
  if (effect.kind === "insert")
    return restarts(effect.intent.fields, effect.intent.types, increment.path, increment);
  return effect.edits.some(({ edit }) => {
    const rest = restOf(edit.path, increment.path);
    if (rest === undefined) return false;
    if (edit.kind === "unset") return true;
    if (edit.kind === "restart") return rest.length === 0 && typeOf(edit) === typeOf(increment);
    return edit.kind === "set" && restarts(edit.value, edit.types, rest, increment);
  });
}

function typeOf(edit: Edit): string {
  return (
    (edit.kind === "increment" || edit.kind === "restart" ? edit.counter : undefined) ?? "counter"
  );
}

/** What is left of a path behind the other one; undefined when it is not below it. */
function restOf(above: readonly string[], path: readonly string[]): readonly string[] | undefined {
  return above.every((name, i) => path[i] === name) ? path.slice(above.length) : undefined;
}

/** Whether writing a value with these types restarts the counter at a path inside it. */
function restarts(
  value: Value,
  mark: TypeMark | undefined,
  path: readonly string[],
  of: Edit,
): boolean {
  if (path.length === 0) return mark === typeOf(of);
  const [name = "", ...rest] = path;
  if (!isMapValue(value, mark) || !Object.hasOwn(value, name)) return false;
  return restarts((value as Record<string, Value>)[name] ?? null, markIn(mark, name), rest, of);
}

function isMapValue(value: Value, mark: TypeMark | undefined): value is ValueObject {
  if (mark !== undefined && typeof mark !== "object" && mark !== "map") return false;
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function markIn(mark: TypeMark | undefined, name: string): TypeMark | undefined {
  return typeof mark === "object" && Object.hasOwn(mark, name) ? mark[name] : undefined;
}

function fieldEdits({ fields, types }: InsertIntent): Edit[] {
  return Object.entries(fields).map(([name, value]) => {
    const mark = markIn(types, name);
    return { kind: "set", path: [name], value, ...(mark === undefined ? {} : { types: mark }) };
  });
}

// The interpreter.

interface Content {
  exists: boolean;
  root: Map<string, Field>;
}

/** A field with its variants; `order` is the step that wrote last. */
interface Field {
  removed: number | undefined;
  readonly variants: Map<Variant["rank"], Variant>;
}

type Variant =
  | { readonly rank: 0 | 1; readonly order: number; readonly value: Value }
  | { readonly rank: 2 | 3; readonly order: number; readonly amount: bigint | number }
  | { readonly rank: 4; readonly touch: number | undefined; readonly kids: Map<string, Field> };

const RANK = { register: 0, attachment: 1, counter: 2, pn_counter: 3, map: 4 } as const;

function runAll(effects: readonly Effect[]): Content {
  const content: Content = { exists: false, root: new Map() };
  const inOrder = [...effects].sort((a, b) => a.order - b.order);
  for (const effect of inOrder) runOne(content, effect, inOrder);
  return content;
}

function runOne(content: Content, effect: Effect, all: readonly Effect[]): void {
  switch (effect.kind) {
    case "end":
      content.exists = false;
      content.root = new Map();
      return;
    case "insert": {
      content.exists = true;
      for (const { path, value, types } of fieldEdits(effect.intent) as SetEdit[]) {
        put(fieldAt(content.root, path), value, types, effect.order);
      }
      return;
    }
    case "update":
      for (const { edit, birth } of effect.edits) {
        const isEnded = all.some((other) => {
          return other.order > birth && other.order < effect.order && hasEnded(other, edit);
        });
        if (edit.kind !== "increment" || !isEnded) runEdit(content, edit, effect.order);
      }
  }
}

type SetEdit = Extract<Edit, { kind: "set" }>;

function runEdit(content: Content, edit: Edit, order: number): void {
  const field = fieldAt(content.root, edit.path);
  switch (edit.kind) {
    case "set":
      return put(field, edit.value, edit.types, order);
    case "unset":
      field.variants.clear();
      field.removed = order;
      return;
    case "restart":
      return restart(field, typeOf(edit) as "counter", edit.value, order);
    case "increment": {
      const rank = typeOf(edit) === "counter" ? 2 : 3;
      const before = field.variants.get(rank);
      const amount = before !== undefined && "amount" in before ? before.amount : 0;
      // A sum of floats starts from 0, so that it is never -0.
      const float = Number(amount) + Number(edit.by) + 0;
      const sum = rank === 2 ? BigInt(amount) + BigInt(edit.by) : float;
      field.variants.set(rank, { rank, order, amount: sum });
    }
  }
}

function put(field: Field, value: Value, mark: TypeMark | undefined, order: number): void {
  if (mark === "counter" || mark === "pn_counter")
    return restart(field, mark, value as number, order);
  if (isMapValue(value, mark)) {
    const kids = kidsOf(field);
    field.variants.set(4, { rank: 4, touch: order, kids });
    for (const [name, part] of Object.entries(value))
      put(kidAt(kids, name), part, markIn(mark, name), order);
    return;
  }
  const rank = mark === "attachment" ? RANK.attachment : RANK.register;
  const before = field.variants.get(rank);
  const isTie = before !== undefined && "order" in before && before.order === order;
  if (isTie && "value" in before && canonicalHex(before.value) > canonicalHex(value)) return;
  field.variants.set(rank, { rank, order, value });
}

function restart(
  field: Field,
  type: "counter" | "pn_counter",
  value: number | bigint,
  order: number,
): void {
  const rank = RANK[type];
  const before = field.variants.get(rank);
  const isTie = before !== undefined && "order" in before && before.order === order;
  if (isTie && "amount" in before && canonicalHex(before.amount) > canonicalHex(value)) return;
  field.variants.set(rank, { rank, order, amount: rank === 2 ? BigInt(value) : Number(value) });
}

function kidsOf(field: Field): Map<string, Field> {
  const map = field.variants.get(4);
  return map?.rank === 4 ? map.kids : new Map();
}

function kidAt(kids: Map<string, Field>, name: string): Field {
  const kid = kids.get(name) ?? { removed: undefined, variants: new Map() };
  kids.set(name, kid);
  return kid;
}

function fieldAt(root: Map<string, Field>, path: readonly string[]): Field {
  const [first = "", ...rest] = path;
  let field = kidAt(root, first);
  for (const name of rest) {
    const map = field.variants.get(4) ?? { rank: 4, touch: undefined, kids: new Map() };
    field.variants.set(4, map);
    field = kidAt(kidsOf(field), name);
  }
  return field;
}

// What is there.

function contentOf(content: Content): Value | undefined {
  return content.exists ? objectOf(content.root) : undefined;
}

function objectOf(kids: Map<string, Field>): ValueObject {
  const entries = [...kids].flatMap(([name, kid]) => {
    const shown = shownOf(kid);
    return shown === undefined ? [] : [[name, valueOf(shown)] as const];
  });
  return Object.fromEntries(entries);
}

function shownOf(field: Field): Variant | undefined {
  const present = [...field.variants.values()].filter((variant) => {
    return (
      variant.rank !== 4 ||
      variant.touch !== undefined ||
      Object.keys(objectOf(variant.kids)).length > 0
    );
  });
  return present.sort((a, b) => recency(a) - recency(b) || a.rank - b.rank).at(-1);
}

function recency(variant: Variant): number {
  if (variant.rank !== 4) return variant.order;
  const below = [...variant.kids.values()].flatMap((kid) => {
    return [kid.removed ?? -1, ...[...kid.variants.values()].map(recency)];
  });
  return Math.max(variant.touch ?? -1, ...below);
}

function valueOf(variant: Variant): Value {
  if (variant.rank === 4) return objectOf(variant.kids);
  return "amount" in variant ? clamped(variant.amount) : variant.value;
}

function clamped(amount: bigint | number): number | bigint {
  if (typeof amount === "number") return amount;
  const limit = 2n ** 63n;
  if (amount >= limit) return limit - 1n;
  if (amount < -limit) return -limit;
  return Number.isSafeInteger(Number(amount)) ? Number(amount) : amount;
}

function isMapAt(root: Map<string, Field>, path: readonly string[]): boolean {
  let kids = root;
  for (const name of path) {
    const field = kids.get(name);
    if (field === undefined || shownOf(field)?.rank !== 4) return false;
    kids = kidsOf(field);
  }
  return true;
}
