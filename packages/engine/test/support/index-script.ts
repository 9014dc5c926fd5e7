/**
 * Scripts for indexes, from a seed: documents come, indexes are made and dropped at any time, and in
 * between everything is asked that an index could answer. The steps are plain data, so that
 * those that a failure does not need can be left out.
 */

import {
  type IndexKey,
  stringifyJson,
  type Types,
  type Value,
  type ValueObject,
} from "@bigpeer/protocol";
import * as fc from "fast-check";
import type { FieldCommand, WriteCommand } from "../../src/query/command/command.ts";
import { checkFilter } from "../../src/query/permission/filter-check.ts";
import type { AccessRule } from "../../src/query/permission/permissions.ts";
import type { SortKey } from "../../src/query/statement/find.ts";
import { anyEdgeDocuments, anyIndexKeys, type Identified } from "../query/generated-documents.ts";
import { anyFilter, anyLookupArguments, anyLookups, valuesAt } from "../query/generated-lookup.ts";
import { anyPlannedMutation, anyPlannedQuery } from "../query/generated-planned.ts";
import { anyNestedMutation, anyNestedQuery } from "../query/generated-query.ts";
import { anyMutation, anySelect } from "../query/generated-statement.ts";
import type { FilterRequest } from "./filter-request.ts";
import { type AimedIndex, IndexAim, keysOf } from "./index-aim.ts";
import { Random } from "./random.ts";

/** For the store with indexes alone. */
export type IndexStep =
  /** At once, or nothing if there is one, or none, of this name. */
  | { readonly kind: "index"; readonly statement: string }
  /** An index is begun, filled with the first documents. */
  | {
      readonly kind: "begin";
      readonly collection: string;
      readonly name: string;
      readonly keys: readonly IndexKey[];
      readonly limit: number;
    }
  /** An index is dropped; of its entries only the first are gone. */
  | {
      readonly kind: "drop";
      readonly collection: string;
      readonly name: string;
      readonly limit: number;
    }
  /** All that is not finished goes on by one piece. */
  | { readonly kind: "piece"; readonly limit: number };

export type Step =
  | IndexStep
  /** A document comes as from another peer, with all that no statement could write. */
  | {
      readonly kind: "put";
      readonly collection: string;
      readonly document: Identified;
      readonly types: Types;
    }
  /** A statement about one document; what it does is not looked at by itself. */
  | { readonly kind: "touch"; readonly statement: string; readonly args: ValueObject }
  | Asked;

/** What both stores are asked. */
export type Asked =
  | {
      readonly kind: "statement";
      readonly statement: string;
      readonly args: ValueObject;
      readonly isStrict: boolean;
    }
  | FilterRequest
  | { readonly kind: "write"; readonly commands: readonly WriteCommand[] };

export interface Rules {
  readonly read: AccessRule;
  readonly write: AccessRule;
}

export interface Script {
  readonly seed: number;
  /** Those of the caller; undefined for somebody who may do everything. */
  readonly rules: Rules | undefined;
  readonly steps: readonly Step[];
}

export const COLLECTIONS = ["things", "others"] as const;

const THINGS_MAX = 36;
const OTHERS_MAX = 14;
const INDEX_NAMES = ["i0", "i1", "i2", "i3", "i4", "i5"];

const anyThings = anyEdgeDocuments(THINGS_MAX);
const anyOthers = anyEdgeDocuments(OTHERS_MAX);
const keysOfIndex = anyIndexKeys();
const anyArgs = anyLookupArguments();
const anyQueryFilter = anyFilter();
const anyCondition = anyLookups("").condition;
const anyQuery = fc.oneof(
  { weight: 8, arbitrary: anyPlannedQuery() },
  { weight: 1, arbitrary: anySelect() },
  { weight: 1, arbitrary: anyNestedQuery() },
);
const anyChange = fc.oneof(
  { weight: 6, arbitrary: anyPlannedMutation() },
  { weight: 1, arbitrary: anyMutation() },
  { weight: 1, arbitrary: anyNestedMutation() },
);

function samples<T>(arbitrary: fc.Arbitrary<T>, seed: number, numRuns: number): T[] {
  return fc.sample(arbitrary, { seed, numRuns });
}

/** A script that asks `count` times, without the statements about indexes. */
export function scriptOf(seed: number, count: number): Script {
  return new ScriptSource(seed, count).script();
}

/** What was done to documents before, so that their fields have variants of several types. */
const PAST = [
  "UPDATE COLLECTION $ (hits COUNTER) APPLY hits INCREMENT BY 2 WHERE _id = :id",
  "UPDATE $ SET hits = 'none' WHERE _id = :id",
  "UPDATE COLLECTION $ (b COUNTER) APPLY b INCREMENT BY 1 WHERE _id = :id",
  "UPDATE $ SET o = {'p': 1, 'q': {'r': 2}} WHERE _id = :id",
  "UPDATE $ SET tags.x.y = 2 WHERE _id = :id",
  "UPDATE $ SET k = {'x': 1} WHERE _id = :id",
  "UPDATE $ UNSET s, o WHERE _id = :id",
  "DELETE FROM $ WHERE _id = :id",
];

/**
 * A script with so many documents that the store builds indexes in the background, and with questions
 * that the slow evaluator can answer about so many.
 */
export function largeScriptOf(seed: number, count: number): Script {
  return new ScriptSource(seed, count).largeScript();
}

/** Several pieces are left to do after CREATE INDEX. */
const LARGE = 1800;

/** Two collections, or one in another, take too long there. */
const TWOFOLD = /\bJOIN\b|\bUNNEST\b|SELECT.*\bSELECT\b/;

class ScriptSource {
  readonly #seed: number;
  readonly #count: number;
  readonly #random: Random;
  readonly #args: ValueObject;
  readonly #queries: readonly string[];
  readonly #changes: readonly string[];
  readonly #filters: readonly string[];
  readonly #keys: readonly string[];
  readonly #more: readonly Identified[];
  readonly #aim: IndexAim;
  /** Those that were made and not dropped, by collection and name. */
  readonly #made = new Map<string, AimedIndex>();

  constructor(seed: number, count: number) {
    this.#seed = seed;
    this.#count = count;
    this.#random = new Random(seed);
    this.#args = samples(anyArgs, seed, 1)[0] ?? {};
    this.#queries = samples(anyQuery, seed, count);
    this.#changes = samples(anyChange, seed, Math.ceil(count / 3));
    this.#filters = samples(anyQueryFilter, seed, 24);
    this.#keys = samples(keysOfIndex, seed, 16);
    this.#more = samples(anyOthers, seed + 1, 1)[0] ?? [];
    this.#aim = new IndexAim(this.#random, samples(anyCondition, seed, 24));
  }

  script(): Script {
    const steps: Step[] = this.#random.oneIn(3) ? this.#indexes() : [];
    steps.push(...this.#documents("things", samples(anyThings, this.#seed, 1)[0] ?? []));
    steps.push(...this.#documents("others", samples(anyOthers, this.#seed, 1)[0] ?? []));
    if (steps[0]?.kind !== "index") steps.push(...this.#indexes());
    const asked: Asked[] = [];
    // Half of the scripts never have an index that is not finished.
    const isSlow = this.#random.oneIn(2);
    while (asked.length < this.#count) {
      const isChange = this.#random.oneIn(8);
      if (isSlow && this.#random.oneIn(4)) steps.push(this.#pieceStep());
      else if (isChange) steps.push(this.#indexStep());
      const next = isChange ? this.#askedAgain(asked) : this.#asked(asked);
      asked.push(next);
      steps.push(next);
    }
    return { seed: this.#seed, rules: this.#random.oneIn(3) ? this.#rules() : undefined, steps };
  }

  largeScript(): Script {
    const drawn = samples(anyThings, this.#seed, 1)[0] ?? [];
    const documents = drawn.filter((document) => !hasNoNumber(document));
    const given = Array.from({ length: documents.length === 0 ? 0 : LARGE }, (_, i) => {
      return { ...documents[i % documents.length], _id: `d${i}` };
    });
    const statement = "INSERT INTO things DOCUMENTS (:given)";
    const steps: Step[] = [{ kind: "touch", statement, args: { given } }];
    steps.push(...this.#documents("others", samples(anyOthers, this.#seed, 1)[0] ?? []));
    const queries = this.#queries.filter((text) => !TWOFOLD.test(text));
    for (const i of Array(this.#count).keys()) {
      if (i % 8 === 0) steps.push(this.#create(INDEX_NAMES[i / 8] ?? "more", "things"));
      if (i % 16 === 0) steps.push(this.#create(INDEX_NAMES[i / 16] ?? "more", "others"));
      const aimed = this.#random.oneIn(2) ? this.#aimedAtLarge() : undefined;
      steps.push(aimed ?? this.#largeStep(i, queries));
    }
    return { seed: this.#seed, rules: this.#random.oneIn(3) ? this.#rules() : undefined, steps };
  }

  #largeStep(number: number, queries: readonly string[]): Asked {
    return this.#random.oneIn(4)
      ? this.#change(number)
      : this.#statement(this.#random.pick(queries));
  }

  /** All of the many rows may meet the few documents of the other collection, not each other. */
  #aimedAtLarge(): Asked | undefined {
    const target = this.#target();
    if (target === undefined) return undefined;
    const { index, others } = target;
    const isCrossed = others.length > 0 && this.#random.oneIn(3);
    const text = isCrossed
      ? this.#aim.crossed(index, this.#random.pick(others))
      : this.#aim.query(index, others);
    if (index.collection === "things" && TWOFOLD.test(text)) return undefined;
    return this.#statement(text);
  }

  /** Of documents that are in the index, and of such as are not in it yet. */
  #change(number: number): Asked {
    const id = `d${this.#random.below(LARGE)}`;
    return this.#statement(
      this.#random.pick([
        `UPDATE things SET k = ${number}, s = 'b' WHERE _id = '${id}'`,
        "UPDATE things SET b = b + 1 WHERE k = 2 AND b < 2 LIMIT 20",
        `DELETE FROM things WHERE _id = '${id}'`,
        `INSERT INTO things DOCUMENTS ({'_id': '${id}x', 'k': 1, 's': 'a'}) ON ID CONFLICT DO UPDATE`,
      ]),
    );
  }

  #documents(collection: string, documents: readonly Identified[]): Step[] {
    const random = this.#random;
    return documents.flatMap((document) => {
      const isCounted = typeof document["hits"] === "number" && random.oneIn(2);
      const types: Types = isCounted ? { hits: "counter", place: "register" } : {};
      const steps: Step[] = [{ kind: "put", collection, document, types }];
      if (random.oneIn(4)) {
        const statement = random.pick(PAST).replace("$", collection);
        steps.push({ kind: "touch", statement, args: { id: document["_id"] } });
      }
      return steps;
    });
  }

  /** Some for both collections; never none, since then there is nothing to compare. */
  #indexes(): Step[] {
    return COLLECTIONS.flatMap((collection) => {
      const names = INDEX_NAMES.slice(0, 1 + this.#random.below(5));
      return names.map((name): Step => this.#create(name, collection));
    });
  }

  #create(name: string, collection: string): Step {
    const keys = this.#random.pick(this.#keys);
    const statement = `CREATE INDEX IF NOT EXISTS ${name} ON ${collection} (${keys})`;
    this.#note({ collection, name, keys: keysOf(keys) });
    return { kind: "index", statement };
  }

  #indexStep(): Step {
    const name = this.#random.pick(INDEX_NAMES);
    const collection = this.#collection();
    if (this.#random.oneIn(2)) return this.#create(name, collection);
    this.#made.delete(`${collection} ${name}`);
    return { kind: "index", statement: `DROP INDEX IF EXISTS ${name} ON ${collection}` };
  }

  /** In pieces so small that questions are asked in between. */
  #pieceStep(): Step {
    const random = this.#random;
    const limit = 1 + random.below(8);
    const place = { collection: this.#collection(), name: random.pick(INDEX_NAMES) };
    switch (random.below(4)) {
      case 0: {
        const keys = keysOf(random.pick(this.#keys));
        this.#note({ ...place, keys });
        return { kind: "begin", ...place, keys, limit };
      }
      case 1:
        this.#made.delete(`${place.collection} ${place.name}`);
        return { kind: "drop", ...place, limit };
      default:
        return { kind: "piece", limit };
    }
  }

  /** Nothing is made where there is one of this name. */
  #note(index: AimedIndex): void {
    const key = `${index.collection} ${index.name}`;
    if (!this.#made.has(key)) this.#made.set(key, index);
  }

  /** One that there is, often the newest, and the others of the same collection. */
  #target(): { readonly index: AimedIndex; readonly others: AimedIndex[] } | undefined {
    const collection = this.#collection();
    const all = [...this.#made.values()].filter((index) => index.collection === collection);
    const last = all.at(-1);
    if (last === undefined) return undefined;
    const index = this.#random.oneIn(3) ? last : this.#random.pick(all);
    return { index, others: all.filter((other) => other !== index) };
  }

  #collection(): string {
    return this.#random.pick(["things", "things", "others"]);
  }

  /** A plan that is kept must not outlive the indexes that it was made for. */
  #askedAgain(before: readonly Asked[]): Asked {
    return before.length === 0 ? this.#find() : this.#random.pick(before.slice(-8));
  }

  #asked(before: readonly Asked[]): Asked {
    const kind = this.#random.below(24);
    if (kind === 0) return this.#askedAgain(before);
    const aimed = this.#random.oneIn(2) ? this.#aimed() : undefined;
    if (aimed !== undefined) return aimed;
    if (kind <= 3) return this.#statement(this.#random.pick(this.#changes));
    if (kind === 4) return this.#insert();
    if (kind <= 7) return this.#find();
    if (kind === 8) return { kind: "write", commands: this.#commands() };
    return this.#statement(this.#queries[before.length] ?? "SELECT * FROM things");
  }

  #aimed(): Asked | undefined {
    const target = this.#target();
    if (target === undefined) return undefined;
    const { index, others } = target;
    switch (this.#random.below(8)) {
      case 0:
        return this.#statement(this.#aim.mutation(index));
      case 1:
        return this.#find({ collection: index.collection, ...this.#aim.filter(index) });
      default:
        return this.#statement(this.#aim.query(index, others));
    }
  }

  #statement(statement: string): Asked {
    const isStrict = this.#random.oneIn(10);
    return { kind: "statement", statement, args: this.#args, isStrict };
  }

  #insert(): Asked {
    const ids = [0, 1, 2, 3].map((i) => `d${i + this.#random.below(THINGS_MAX / 4) * 4}`);
    const given = ids.map((id) => ({ ...this.#document(), _id: id }));
    const collection = this.#collection();
    const statement = `INSERT INTO ${collection} DOCUMENTS (:given) ON ID CONFLICT DO UPDATE`;
    return { kind: "statement", statement, args: { given }, isStrict: false };
  }

  #document(): Identified {
    const id = `d${this.#random.below(THINGS_MAX)}`;
    const more = this.#more.filter((document) => !hasNoNumber(document));
    return more.length === 0 ? { _id: id } : { ...this.#random.pick(more), _id: id };
  }

  #find(aimed?: Pick<FilterRequest, "collection" | "query" | "sort">): Asked {
    const random = this.#random;
    const keys = ["k", "b", "s", "a", "o.p", "_id", "t[0]"];
    const sort = Array.from({ length: random.below(3) }, (): SortKey => {
      return { property: random.pick(keys), isDescending: random.oneIn(2) };
    });
    return {
      kind: random.pick(["find", "find", "count"] as const),
      collection: this.#collection(),
      query: random.pick(this.#filters),
      args: this.#args,
      sort,
      offset: random.pick([0, 0, 1, 3]),
      limit: random.pick([1, 3, 1000]),
      ...aimed,
    };
  }

  /** Each sees what those before it have changed. */
  #commands(): WriteCommand[] {
    return Array.from({ length: 1 + this.#random.below(4) }, () => this.#command());
  }

  #command(): WriteCommand {
    const random = this.#random;
    const collection = this.#collection();
    const args = this.#args;
    const query = random.pick(this.#filters);
    switch (random.below(4)) {
      case 0:
        return { method: "upsert", collection, value: this.#document() };
      case 1:
        return { method: "remove", collection, query: `_id == 'd${random.below(8)}'`, args };
      default: {
        const commands = Array.from({ length: 1 + random.below(2) }, () => this.#fieldCommand());
        return { method: "update", collection, query, args, commands };
      }
    }
  }

  #fieldCommand(): FieldCommand {
    const random = this.#random;
    const path = random.pick(["k", "b", "s", "a", "o.p"]);
    if (random.oneIn(4)) return { method: "increment", path: random.pick(["k", "hits"]), value: 1 };
    return { method: "set", path, value: random.pick<Value>([0, 1, 2, "a", "b", null, true]) };
  }

  #rules(): Rules {
    const usable = this.#filters.filter(isRule);
    const random = this.#random;
    const queries = ["k != 0", "b >= 0", "s LIKE 'a%' || k == 1", "_id != 'd1'", ...usable];
    const some = (collection: string): string[] =>
      random.oneIn(4) ? [random.pick(queries), random.pick(queries)] : this.#keyed(collection);
    const rule = (): AccessRule => {
      const queriesByCollection = { things: some("things"), others: some("others") };
      return { everything: false, queriesByCollection };
    };
    const read = rule();
    return { read, write: random.pick([{ everything: true } as const, read, rule()]) };
  }

  /** A rule that is the first keys of an index: only such a one lets an index serve the caller (P21). */
  #keyed(collection: string): string[] {
    const random = this.#random;
    const indexes = [...this.#made.values()].filter((index) => index.collection === collection);
    const keys = indexes.length === 0 ? keysOf("k") : random.pick(indexes).keys;
    const paths = keys.slice(0, random.oneIn(4) ? 2 : 1).map(({ path }) => path.join("."));
    return Array.from({ length: 3 + random.below(3) }, () =>
      paths.map((path) => `${path} == ${random.pick(plainValuesAt(path))}`).join(" && "),
    );
  }
}

/** Those that a rule may name, without arguments and lists. */
function plainValuesAt(path: string): string[] {
  return valuesAt(path).filter((value) => /^(\d+|'.*'|true|false)$/.test(value));
}

/** What no statement can write. */
function hasNoNumber(value: Value): boolean {
  if (typeof value !== "object" || value === null) return Number.isNaN(value);
  return Object.values(value).some(hasNoNumber);
}

function isRule(filter: string): boolean {
  try {
    checkFilter(filter, "query");
    return true;
  } catch {
    return false;
  }
}

/** A script for people, one step in each line. */
export function shownScript({ seed, rules, steps }: Script): string {
  const lines = steps.map((step) => shownStep(step));
  const who = rules === undefined ? [] : [`rules ${stringifyJson(rules as unknown as Value)}`];
  return [`seed ${seed}`, ...who, ...lines].join("\n");
}

function shownStep(step: Step): string {
  switch (step.kind) {
    case "index":
      return step.statement;
    case "begin":
    case "drop":
    case "piece":
      return `in pieces: ${inspected(step)}`;
    case "put":
      return `put into ${step.collection} ${inspected(step.document)} ${inspected(step.types)}`;
    case "touch":
    case "statement": {
      const strict = step.kind === "statement" && step.isStrict ? "  (strict mode)" : "";
      return `${step.statement}  ${shownArgs(step.statement, step.args)}${strict}`;
    }
    case "find":
    case "count": {
      const { args, ...rest } = step;
      return `${inspected(rest as unknown as Value)}  ${shownArgs(step.query, args)}`;
    }
    default:
      return inspected(step as unknown as Value);
  }
}

/** Only those that are named. */
function shownArgs(text: string, args: ValueObject): string {
  const named = Object.entries(args).filter(([name]) =>
    new RegExp(`(:|\\$args\\.)${name}\\b`).test(text),
  );
  return named.length === 0 ? "" : inspected(Object.fromEntries(named)).slice(0, 4000);
}

function inspected(value: Value): string {
  return stringifyJson(value).replaceAll(/x{64,}/g, ({ length }) => `<x ${length} times>`);
}
