/**
 * Generated worlds for permissions: documents with a past, rules, and requests of every kind.
 *
 * Everything comes from one seed. What fast-check generates elsewhere for statements is drawn here as
 * samples; ids of several kinds, counters, maps, tokens and writes are made by hand.
 */

import { stringifyJson, type Value, type ValueObject } from "@bigpeer/protocol";
import * as fc from "fast-check";
import type {
  FieldCommand,
  TypeOverride,
  UpsertCommand,
  WriteCommand,
} from "../../src/query/command/command.ts";
import { checkFilter } from "../../src/query/permission/filter-check.ts";
import type { AccessRule } from "../../src/query/permission/permissions.ts";
import { anyDocuments, anyIndexes } from "../query/generated-documents.ts";
import { anyExpressions } from "../query/generated-expression.ts";
import { anyLookupArguments } from "../query/generated-lookup.ts";
import { anyNestedMutation, anyNestedQuery } from "../query/generated-query.ts";
import { anyMutation, anySelect } from "../query/generated-statement.ts";
import type { FilterRequest } from "./filter-request.ts";
import { IndexAim, keysOf } from "./index-aim.ts";
import { anyToken, CONTENT_IDS, CONTENTS, type Content } from "./permission-content.ts";
import { Random } from "./random.ts";

/** The last is never written to by the world itself, and the one before has a rule only rarely. */
export const COLLECTIONS = ["things", "others", "notes", "secret", "nosuch"] as const;

export const IDS: readonly Value[] = [
  "d0",
  "d1",
  "d2",
  "d3",
  "d4",
  "d5",
  1,
  2,
  true,
  ["a", 1],
  { n: 1, u: "ada" },
  { n: 2, u: "bob" },
];

const NEW_IDS: readonly Value[] = ["new", 77, { n: 3, u: "ada" }];

/** A document by what was done to it, oldest first. */
export interface PastDocument {
  readonly collection: string;
  readonly id: Value;
  readonly steps: readonly { readonly statement: string; readonly args: ValueObject }[];
}

export interface FuzzWorld {
  readonly seed: number;
  readonly documents: readonly PastDocument[];
  readonly indexes: readonly string[];
  readonly contents: readonly Content[];
  readonly read: AccessRule;
  readonly write: AccessRule;
}

export type FuzzRequest =
  | {
      readonly kind: "statement";
      readonly statement: string;
      readonly args: ValueObject;
      readonly isStrict: boolean;
      /** With little memory. */
      readonly isTight: boolean;
      /** The documents that an INSERT brings, where they are not those of a SELECT. */
      readonly given?: readonly ValueObject[];
      /** The SELECT that an INSERT takes its documents from. */
      readonly source?: string;
    }
  | FilterRequest
  | { readonly kind: "findById"; readonly collection: string; readonly id: Value }
  | { readonly kind: "attachment"; readonly id: string }
  | { readonly kind: "write"; readonly commands: readonly WriteCommand[] };

type StatementRequest = Extract<FuzzRequest, { readonly kind: "statement" }>;

/** IN takes values of one type alone. */
const AMONG = "ANY x IN :ids SATISFIES x == _id END";

/** Of every field and kind; some fail for some documents. */
const QUERIES: readonly string[] = [
  "false",
  "null",
  "s",
  "owner == 'ada'",
  "owner != 'bob'",
  "owner IN ('ada', 'all')",
  "a == 1",
  "a == null",
  "b > 0",
  "b <= 2",
  "b + 1 > 2",
  "f == true",
  "f != true",
  "s LIKE 'a%'",
  "upper(s) == 'A'",
  "n / b > 0.5",
  "contains(g, 'a')",
  "ANY x IN t SATISFIES x > 1 END",
  "o.p == 1 || o.q.r > 0",
  "tags.x.y > 0",
  "tags.z == 'a' && hits < 3",
  "hits > 1",
  "place.row == 1",
  "pic != null",
  "pic.id == 'p1' || pic.len > 2",
  "link != null && !(link == 'd1')",
  "_id != 'd1'",
  "_id IN ('d0', 'd2', 'd4', 1)",
  "_id.u == 'ada'",
  "type(_id) == 'string'",
];

function samples<T>(arbitrary: fc.Arbitrary<T>, seed: number, numRuns: number): T[] {
  return fc.sample(arbitrary, { seed, numRuns });
}

function isQuery(text: string): boolean {
  try {
    checkFilter(text, "query");
    return true;
  } catch {
    return false;
  }
}

/** Queries for rules and filters: those above, and generated ones that ask for no arguments. */
function queriesOf(seed: number): string[] {
  const generated = samples(anyExpressions("").condition, seed, 30).filter(isQuery);
  return [...QUERIES, ...generated.slice(0, 12)];
}

function queriesOfCollection(random: Random, queries: readonly string[]): string[] | undefined {
  const kind = random.below(20);
  if (kind === 0) return undefined;
  if (kind === 1) return [];
  if (kind <= 3) return ["true"];
  return Array.from({ length: 1 + random.below(3) }, () => random.pick(queries));
}

function ruleOf(random: Random, queries: readonly string[], oftenAll: number): AccessRule {
  if (random.oneIn(oftenAll)) return { everything: true };
  const queriesByCollection: { [name: string]: readonly string[] } = {};
  for (const name of COLLECTIONS) {
    if (name === "secret" && !random.oneIn(4)) continue;
    const chosen = queriesOfCollection(random, queries);
    if (chosen !== undefined) queriesByCollection[name] = chosen;
  }
  return { everything: false, queriesByCollection };
}

/** Rules that leave something to be judged. */
function rulesOf(
  random: Random,
  queries: readonly string[],
): { readonly read: AccessRule; readonly write: AccessRule } {
  const read = ruleOf(random, queries, 20);
  if (random.oneIn(5)) return { read, write: ruleOf(random, queries, Number.MAX_SAFE_INTEGER) };
  if (!read.everything && random.oneIn(3)) return { read, write: read };
  const write = ruleOf(random, queries, 2);
  const isFull = read.everything && write.everything;
  return isFull ? rulesOf(random, queries) : { read, write };
}

const PAST_STEPS: readonly string[] = [
  "UPDATE COLLECTION $ (hits COUNTER) APPLY hits INCREMENT BY 2 WHERE _id = :id",
  "UPDATE $ SET hits = 'none' WHERE _id = :id",
  "UPDATE $ SET o = {'p': 1, 'q': {'r': 2}} WHERE _id = :id",
  "UPDATE $ SET tags.x.y = 2 WHERE _id = :id",
  "UPDATE $ SET tags = 5 WHERE _id = :id",
  "UPDATE $ UNSET s, o WHERE _id = :id",
  "UPDATE $ SET owner = 'ada' WHERE _id = :id",
  "DELETE FROM $ WHERE _id = :id",
  "DELETE FROM $ WHERE _id = :id",
];

function moreFields(random: Random): ValueObject {
  const given: { [name: string]: Value } = { owner: random.pick(["ada", "bob", "all"]) };
  if (!random.oneIn(3)) given["hits"] = random.below(4);
  if (random.oneIn(2)) given["place"] = { row: random.below(3), bin: 1 };
  if (random.oneIn(2)) given["tags"] = { x: { y: random.below(3) }, z: random.pick(["a", "b"]) };
  if (random.oneIn(3)) given["pic"] = anyToken(random);
  if (random.oneIn(8)) given["s"] = "a".repeat(1024);
  return given;
}

type Identified = ValueObject & { readonly _id: Value };

function pastOf(random: Random, collection: string, document: Identified): PastDocument {
  const { _id: id } = document;
  const named = (text: string): string => text.replace("$", collection);
  const insert = named("INSERT INTO COLLECTION $ (hits COUNTER, place REGISTER) DOCUMENTS (:d)");
  const steps = [{ statement: insert, args: { d: document } as ValueObject }];
  while (random.oneIn(2)) {
    steps.push({ statement: named(random.pick(PAST_STEPS)), args: { id } });
  }
  return { collection, id, steps };
}

function documentsOf(random: Random, seed: number): PastDocument[] {
  return COLLECTIONS.slice(0, -1).flatMap((collection, i) => {
    const drawn = samples(anyDocuments(IDS.length), seed + i, 1)[0] ?? [];
    const ids = random.shuffle(IDS);
    return drawn.map((document, place) =>
      pastOf(random, collection, {
        ...document,
        ...moreFields(random),
        _id: ids[place] ?? "more",
      }),
    );
  });
}

function indexesOf(seed: number): readonly string[] {
  return samples(anyIndexes(), seed, 1)[0] ?? [];
}

export function worldOf(seed: number): FuzzWorld {
  const random = new Random(seed);
  const documents = documentsOf(random, seed);
  return {
    seed,
    documents,
    indexes: indexesOf(seed),
    contents: CONTENTS,
    ...rulesOf(random, queriesOf(seed)),
  };
}

/** Requests of one world, from its seed and their number alone. */
export class RequestSource {
  readonly #random: Random;
  readonly #selects: readonly string[];
  readonly #mutations: readonly string[];
  readonly #conditions: readonly string[];
  readonly #queries: readonly string[];
  readonly #args: ValueObject;
  readonly #indexes: readonly string[];
  readonly #aim: IndexAim;

  constructor(seed: number, count: number) {
    this.#random = new Random(seed ^ 0x5eed);
    this.#selects = samples(fc.oneof(anySelect(), anyNestedQuery()), seed, count);
    const mutation = fc.oneof(anyMutation(), anyMutation(), anyNestedMutation());
    this.#mutations = samples(mutation, seed, Math.ceil(count / 4));
    this.#conditions = samples(anyExpressions("").condition, seed + 1, count);
    this.#queries = queriesOf(seed + 2);
    this.#args = samples(anyLookupArguments(), seed, 1)[0] ?? {};
    this.#indexes = indexesOf(seed);
    this.#aim = new IndexAim(this.#random, this.#conditions);
  }

  next(): FuzzRequest {
    const random = this.#random;
    const makers: readonly (() => FuzzRequest)[] = [
      () => this.#select(),
      () => this.#select(),
      () => this.#ownSelect(),
      () => this.#ownSelect(),
      () => this.#aimed(),
      () => this.#aimed(),
      () => this.#system(),
      () => this.#insert(),
      () => this.#insertSelect(),
      () => this.#mutation(),
      () => this.#ownMutation(),
      () => this.#find(),
      () => this.#lookUp(),
      () => ({ kind: "write", commands: this.#commands() }),
    ];
    return random.pick(makers)();
  }

  #collection(): string {
    // The collection without a rule and the one that does not exist: rarely.
    const number = this.#random.below(24);
    if (number === 0) return "nosuch";
    if (number === 1) return "secret";
    return this.#random.pick(["things", "things", "others", "notes"]);
  }

  #statement(statement: string, more: Partial<StatementRequest> = {}): StatementRequest {
    const ids = this.#someIds();
    const token = anyToken(this.#random);
    const args = { ...this.#args, ids, token, ...more.args };
    const isStrict = this.#random.oneIn(12);
    return { kind: "statement", isStrict, isTight: false, ...more, statement, args };
  }

  /** In other collections than those that it was generated for. */
  #renamed(statement: string): string {
    const [things, others] = [this.#collection(), this.#collection()];
    return statement.replaceAll(/\bthings\b/g, things).replaceAll(/\bothers\b/g, others);
  }

  #select(): FuzzRequest {
    const random = this.#random;
    const prefix = random.pick(["", "", "", "", "", "EXPLAIN ", "PROFILE ", "ADVISE "]);
    const isTight = random.oneIn(5);
    return this.#statement(prefix + this.#renamed(random.pick(this.#selects)), { isTight });
  }

  /** At an index that there is, when the collection had documents. */
  #aimed(): FuzzRequest {
    const random = this.#random;
    if (this.#indexes.length === 0) return this.#ownSelect();
    const collection = this.#collection();
    const all = this.#indexes.map((keys, i) => ({ collection, name: `i${i}`, keys: keysOf(keys) }));
    const index = random.pick(all);
    const prefix = random.pick(["", "", "", "EXPLAIN ", "EXPLAIN ", "PROFILE ", "ADVISE "]);
    const text = random.pick([
      () => this.#aim.mutation(index),
      () => this.#aim.crossed(index, random.pick(all)),
      () => this.#aim.crossed(index, random.pick(all)),
      () => this.#aim.query(index, all),
      () => this.#aim.query(index, all),
      () => this.#aim.query(index, all),
    ])();
    return this.#statement(prefix + text, { isTight: random.oneIn(8) });
  }

  /** What the other generator does not make. */
  #ownSelect(): FuzzRequest {
    const random = this.#random;
    const [one, two] = [this.#collection(), this.#collection()];
    const condition = random.pick(this.#conditions);
    const texts: readonly string[] = [
      `SELECT count(*) FROM ${one}`,
      `SELECT count(*) AS c1 FROM ${one} WHERE ${condition}`,
      `SELECT * FROM ${one} USE IDS LIST :ids`,
      `SELECT _id, owner FROM ${one} USE IDS 'd0', 'd3', 1, {'n': 2, 'u': 'bob'}, ['a', 1]`,
      `SELECT _id, upper(b) AS c1 FROM ${one}`,
      `SELECT _id, hits + 1 AS c1, place.row AS c2 FROM ${one} WHERE hits > 0`,
      `SELECT * FROM COLLECTION ${one} (hits COUNTER, tags MAP, place REGISTER) ORDER BY hits, _id`,
      `SELECT _id, ARRAY v + 1 FOR v IN t WHEN v > 0 END AS c1 FROM ${one} LIMIT 5`,
      `SELECT owner, count(*) AS c1, sum(hits) AS c2 FROM ${one} GROUP BY owner`,
      `SELECT owner FROM ${one} GROUP BY owner HAVING count(*) > 1 ORDER BY count(*) DESC, owner`,
      `SELECT DISTINCT owner, f FROM ${one} WHERE ${condition}`,
      `SELECT min(_id) AS c1, max(hits) AS c2, array_agg(owner) AS c3 FROM ${one}`,
      `SELECT x._id AS c1, y.owner AS c2 FROM ${one} x LEFT JOIN ${two} y ON y._id = x.link`,
      `SELECT x._id AS c1, count(y._id) AS c2 FROM ${one} x JOIN ${two} y ON x.owner = y.owner GROUP BY x._id`,
      `SELECT pic, pic.id AS c1 FROM ${one} WHERE pic.len > 0 ORDER BY pic.id, _id LIMIT 3 OFFSET 1`,
      `SELECT * FROM ${one} ORDER BY s DESC, _id LIMIT 2`,
      `SELECT _id FROM ${one} WHERE owner IN (SELECT owner FROM ${two} WHERE ${condition})`,
      `SELECT x._id AS c1 FROM ${one} x WHERE EXISTS (SELECT 1 FROM ${two} y WHERE y.link = x._id)`,
      `SELECT owner FROM ${one} UNION SELECT owner FROM ${two} ORDER BY owner LIMIT 5`,
      `SELECT t.owner, count(*) AS c1 FROM (SELECT owner FROM ${one}) t GROUP BY t.owner`,
      `SELECT x._id AS c1, e FROM ${one} x UNNEST x.t AS e ORDER BY x._id, e`,
      `SELECT * FROM ${one} LIMIT b`,
      `SELECT nothing( FROM ${one}`,
      `SELECT a FROM ${one} WHERE a = :absent`,
    ];
    return this.#statement(random.pick(texts), { isTight: random.oneIn(5) });
  }

  #system(): FuzzRequest {
    const collection = this.#collection();
    const counts = "`key` LIKE 'collection_num_docs%'";
    const texts: readonly string[] = [
      "SELECT * FROM system:collections",
      "SELECT count(*) FROM system:collections",
      "SELECT name FROM system:collections WHERE _id IN ['things', 'secret']",
      "SELECT * FROM system:all_collections",
      "SELECT * FROM system:indexes",
      "SELECT _id FROM system:indexes",
      `SELECT count(*) AS c1 FROM system:indexes WHERE collection = '${collection}'`,
      `SELECT \`key\`, \`value\` FROM system:system_info WHERE ${counts}`,
      `SELECT sum(\`value\`) AS c1 FROM system:system_info WHERE ${counts}`,
      `SELECT c.name AS c1, t._id AS c2 FROM ${collection} t JOIN system:collections c ON true`,
      HISTORY,
      HISTORY,
      ACTIVE,
      "SELECT count(*) AS c1 FROM system:shared_statements",
      "SELECT count(*) AS c1 FROM system:vitals",
      "SHOW ALL",
      "SHOW dql_strict_mode",
      "EXECUTE FUNCTION upper('a')",
      `CREATE INDEX IF NOT EXISTS ix ON ${collection} (a)`,
      `DROP INDEX i0 ON ${collection}`,
      "ALTER SYSTEM SET dql_strict_mode = true",
    ];
    return this.#statement(this.#random.pick(texts));
  }

  #someIds(): Value[] {
    const all = [...IDS, ...NEW_IDS];
    return Array.from({ length: 1 + this.#random.below(4) }, () => this.#random.pick(all));
  }

  #fields(): ValueObject {
    const random = this.#random;
    const given: { [name: string]: Value } = {};
    if (random.oneIn(2)) given["a"] = random.pick<Value>([1, 2, null, "a"]);
    if (random.oneIn(2)) given["b"] = random.below(4);
    if (random.oneIn(2)) given["f"] = random.oneIn(2);
    if (random.oneIn(3)) given["o"] = { p: 1, q: { r: random.below(3) } };
    const { pic, ...others } = moreFields(random);
    return { ...given, ...others, ...(pic !== undefined && random.oneIn(3) && { pic }) };
  }

  #newDocument(): ValueObject {
    const random = this.#random;
    if (random.oneIn(8)) return this.#fields();
    const id = random.pick(random.oneIn(3) ? NEW_IDS : IDS);
    return { _id: id, ...this.#fields() };
  }

  #policy(): string {
    return this.#random.pick([
      "",
      "ON ID CONFLICT FAIL",
      "ON ID CONFLICT DO NOTHING",
      "ON ID CONFLICT DO UPDATE",
      "ON ID CONFLICT DO UPDATE",
      "ON ID CONFLICT DO UPDATE_LOCAL_DIFF",
      "ON ID CONFLICT DO MERGE",
    ]);
  }

  #returning(): string {
    return this.#random.pick(["", "", "RETURNING *", "RETURNING _id, owner, hits, o.p"]);
  }

  #insert(): FuzzRequest {
    const random = this.#random;
    const name = this.#collection();
    const into = random.oneIn(3) ? `COLLECTION ${name} (hits COUNTER)` : name;
    const given = Array.from({ length: random.pick([1, 1, 2, 3]) }, () => this.#newDocument());
    const isInitial = random.oneIn(3);
    const middle = isInitial ? "INITIAL " : "";
    const policy = isInitial ? "" : this.#policy();
    const prefix = random.pick(["", "", "", "", "", "", "EXPLAIN ", "PROFILE "]);
    const statement = `${prefix}INSERT INTO ${into} ${middle}DOCUMENTS (:given) ${policy} ${this.#returning()}`;
    return this.#statement(statement, { given, args: { given } });
  }

  #insertSelect(): FuzzRequest {
    const random = this.#random;
    const [into, from] = [this.#collection(), this.#collection()];
    const where = random.oneIn(2) ? `WHERE ${random.pick(this.#conditions)}` : "";
    const source = random.pick([
      `SELECT * FROM ${from} ${where}`,
      `SELECT _id, a, b, owner, hits FROM ${from} ${where} ORDER BY _id LIMIT 2`,
      `SELECT 'new' AS _id, 'ada' AS owner, count(*) AS hits FROM ${from} ${where}`,
      `SELECT 'ada' AS owner, o, pic FROM ${from} ${where} LIMIT 3`,
      `SELECT x._id AS _id, y.owner AS owner FROM ${from} x JOIN ${into} y ON y._id = x.link`,
      `SELECT _id, owner FROM ${from} WHERE _id IN (SELECT link FROM ${into})`,
      `SELECT _id, owner FROM ${from} UNION SELECT 'new' AS _id, owner FROM ${into} WHERE false`,
    ]);
    const end = `${this.#policy()} ${this.#returning()}`;
    return this.#statement(`INSERT INTO ${into} ${source} ${end}`, { source });
  }

  #mutation(): FuzzRequest {
    const random = this.#random;
    const prefix = random.pick(["", "", "", "", "", "", "", "EXPLAIN ", "PROFILE ", "ADVISE "]);
    const text = this.#renamed(random.pick(this.#mutations)).replace(
      /^DELETE/,
      random.pick(["DELETE", "TOMBSTONE"]),
    );
    return this.#statement(`${prefix}${text} ${this.#returning()}`);
  }

  #ownMutation(): FuzzRequest {
    const random = this.#random;
    const name = this.#collection();
    const change = random.pick([
      `UPDATE ${name} SET owner = '${random.pick(["ada", "bob", "all"])}'`,
      `DELETE FROM ${name}`,
      `UPDATE ${name} SET b = b + 1`,
      `UPDATE COLLECTION ${name} (hits COUNTER) APPLY hits INCREMENT BY 1`,
      `UPDATE COLLECTION ${name} (hits COUNTER) APPLY hits RESTART WITH 1 SET f = true`,
      `UPDATE ${name} SET tags.x.y = 1, o.q.r = 2`,
      `UPDATE ${name} SET tags = {'x': {'y': 0}, 'z': 'b'}`,
      `UPDATE ${name} UNSET o.p, tags.x`,
      `UPDATE ${name} SET pic = :token`,
      `DELETE FROM ${name}`,
      `EVICT FROM ${name}`,
      `TOMBSTONE FROM ${name}`,
    ]);
    const which = random.pick([
      `WHERE ${AMONG}`,
      `WHERE ${AMONG}`,
      `WHERE ${random.pick(this.#conditions)}`,
      "WHERE owner = 'ada'",
      `WHERE owner IN ( SELECT owner FROM ${this.#collection()} WHERE b > 0 )`,
      `WHERE link IN ( SELECT link FROM ${this.#collection()} )`,
      "WHERE hits > 0 ORDER BY hits DESC, _id LIMIT 2",
      "ORDER BY s, _id LIMIT 1",
    ]);
    return this.#statement(`${change} ${which} ${this.#returning()}`);
  }

  #find(): FuzzRequest {
    const random = this.#random;
    const property = random.pick(["b", "hits", "o.p", "_id", "s"]);
    return {
      kind: random.pick(["find", "count"] as const),
      collection: this.#collection(),
      query: random.pick(["true", ...this.#queries, "b >= $args.number", "_id == :id"]),
      args: this.#args,
      sort: random.oneIn(2) ? [{ property, isDescending: random.oneIn(2) }] : [],
      offset: random.pick([0, 0, 1]),
      limit: random.pick([1, 3, 1000]),
    };
  }

  #lookUp(): FuzzRequest {
    if (this.#random.oneIn(4)) {
      return { kind: "attachment", id: this.#random.pick(CONTENT_IDS) };
    }
    return { kind: "findById", collection: this.#collection(), id: this.#random.pick(IDS) };
  }

  #commands(): WriteCommand[] {
    return Array.from({ length: this.#random.pick([1, 1, 2, 3]) }, () => this.#command());
  }

  #command(): WriteCommand {
    const random = this.#random;
    const collection = this.#collection();
    const target = {
      collection,
      query: random.pick([...this.#queries, AMONG, AMONG]),
      args: { ids: this.#someIds() },
    };
    const method = random.pick(["upsert", "update", "update", "remove"] as const);
    if (method === "remove") return { method, ...target };
    if (method === "upsert") return this.#upsert(collection);
    const commands = Array.from({ length: 1 + random.below(3) }, () => this.#fieldCommand());
    return { method, ...target, commands };
  }

  #upsert(collection: string): UpsertCommand {
    const value = this.#newDocument();
    const valueTypeOverrides: { [field: string]: TypeOverride } = {};
    if (Object.hasOwn(value, "hits")) valueTypeOverrides["hits"] = "counter";
    if (Object.hasOwn(value, "pic")) valueTypeOverrides["pic"] = "attachment";
    return { method: "upsert", collection, value, valueTypeOverrides };
  }

  #fieldCommand(): FieldCommand {
    const random = this.#random;
    const values: readonly Value[] = [0, 1, 2, "a", "ada", "bob", true, null, "d1"];
    const paths = ["a", "b", "s", "owner", "f", "o.p", "tags.x.y", "link"];
    switch (random.below(6)) {
      case 0:
        return { method: "increment", path: random.pick(["hits", "b", "n"]), value: 1 };
      case 1:
        return { method: "replaceWithCounter", path: random.pick(["hits", "n"]), value: 2 };
      case 2:
        if (!random.oneIn(3)) break;
        return { method: "setAttachment", path: "pic", value: anyToken(random) };
      default:
        break;
    }
    return { method: "set", path: random.pick(paths), value: random.pick(values) };
  }
}

/** Of statements alone: findById leaves no trace, and the others are told under other names. */
export const HISTORY: string =
  "SELECT text, state, resultCount, error FROM system:request_history WHERE requestType = 'execute'";

/** The one that asks is among them. */
export const ACTIVE: string = "SELECT text, queryType FROM system:active_requests";

/** A request in one line, for a failure. */
export function shownRequest(request: FuzzRequest): string {
  return stringifyJson(request as unknown as Value);
}
