/**
 * Questions aimed at an index: conditions on its first keys, an order along it or against it, columns
 * that it holds or does not hold. What is drawn without a look at the indexes rarely meets one.
 */

import type { IndexKey } from "@bigpeer/protocol";
import type { SortKey } from "../../src/query/statement/find.ts";
import { parseStatement } from "../../src/query/syntax/parse-statement.ts";
import { valuesAt } from "../query/generated-lookup.ts";
import type { Random } from "./random.ts";

/** What there is in the store with indexes, as far as a script knows. */
export interface AimedIndex {
  readonly collection: string;
  readonly name: string;
  readonly keys: readonly IndexKey[];
}

/** What goes into a statement: a condition, and the order that comes with it. */
interface Aim {
  readonly condition: string;
  /** Without the words ORDER BY; nothing where none is asked for. */
  readonly order: string;
}

const WINDOWS = ["", "", "", "LIMIT 1", "LIMIT 3", "LIMIT 2 OFFSET 1", "LIMIT 100", "LIMIT :limit"];
const BEGINNINGS = ["'a%'", "'a_'", "'x%'", "'%'", ":longPattern", "'a!_%' ESCAPE '!'"];

export class IndexAim {
  readonly #random: Random;
  readonly #conditions: readonly string[];

  /** `conditions` are such as could stand beside any other. */
  constructor(random: Random, conditions: readonly string[]) {
    this.#random = random;
    this.#conditions = conditions;
  }

  /** A query about the collection of the first index. */
  query(index: AimedIndex, others: readonly AimedIndex[]): string {
    const random = this.#random;
    switch (random.below(10)) {
      case 0:
        return this.#grouped(index);
      case 1:
        return this.#counted(index, others);
      case 2:
        return this.#joined(index);
      case 3:
        return this.#nested(index);
      case 4:
        return this.#ordered(index);
      default:
        return this.#selected(index, others);
    }
  }

  /** What two indexes know about: of each only its first key, so that many documents are found. */
  crossed(index: AimedIndex, other: AimedIndex): string {
    const random = this.#random;
    const [one, two] = [index, other].map(({ keys }) => {
      const name = nameOf(keys[0]);
      return random.oneIn(2) ? this.#point("", name) : this.#range("", name);
    });
    const shown = random.pick(["_id", "count(*) AS c1", "k AS c1, b AS c2"]);
    const link = random.pick(["AND", "AND", "OR"]);
    return `SELECT ${shown} FROM ${index.collection} WHERE ( ${one} ${link} ${two} )`;
  }

  mutation(index: AimedIndex): string {
    const random = this.#random;
    const { collection, keys } = index;
    const { condition, order } = this.#aim(index, "");
    const path = nameOf(keys[0]);
    const changes = [
      `UPDATE ${collection} SET k = 2`,
      `UPDATE ${collection} SET b = b + 1, s = 'a'`,
      `UPDATE ${collection} UNSET a, u`,
      `UPDATE COLLECTION ${collection} (hits COUNTER) APPLY hits INCREMENT BY 1`,
      ...(/^[a-z]+$/.test(path) ? [`UPDATE ${collection} SET ${path} = ${this.#value(path)}`] : []),
    ];
    const few = `${order === "" ? "" : `ORDER BY ${order}`} LIMIT ${1 + random.below(3)}`;
    const returning = random.pick(["", "", "RETURNING *", "RETURNING _id, k, b"]);
    if (random.oneIn(3)) {
      const verb = random.pick(["DELETE", "EVICT", "EVICT", "TOMBSTONE"]);
      return `${verb} FROM ${collection} WHERE ${condition} ${few} ${returning}`;
    }
    const end = random.oneIn(2) ? few : "";
    return `${random.pick(changes)} WHERE ${condition} ${end} ${returning}`;
  }

  /** A filter of the data API with the order that it is sorted by. */
  filter(index: AimedIndex): { readonly query: string; readonly sort: readonly SortKey[] } {
    const random = this.#random;
    const points = this.#pointCount(index.keys);
    const { condition } = this.#aim(index, "", points);
    const isAgainst = random.oneIn(2);
    const keys = index.keys.slice(points, points + random.below(3));
    const sort = keys.map((key): SortKey => {
      return { property: nameOf(key), isDescending: key.isDescending !== isAgainst };
    });
    return { query: condition, sort };
  }

  #selected(index: AimedIndex, others: readonly AimedIndex[]): string {
    const random = this.#random;
    const { collection } = index;
    const { condition, order } = this.#aim(index, "");
    const where = this.#withMore(condition, others);
    const sorted = order === "" ? "" : `ORDER BY ${order}`;
    const shown = this.#columns(index, "");
    return `SELECT ${shown} FROM ${collection} WHERE ${where} ${sorted} ${random.pick(WINDOWS)}`;
  }

  /** Nothing but the order leads through the index. */
  #ordered(index: AimedIndex): string {
    const random = this.#random;
    const order = this.#order(index.keys, 0, "");
    const shown = this.#columns(index, "");
    const window = random.pick(["LIMIT 2", "LIMIT 5 OFFSET 2", "LIMIT 100", ""]);
    const where = random.oneIn(2) ? "" : `WHERE ${random.pick(this.#conditions)}`;
    return `SELECT ${shown} FROM ${index.collection} ${where} ORDER BY ${order} ${window}`;
  }

  #grouped(index: AimedIndex): string {
    const key = nameOf(index.keys[0]);
    const { condition } = this.#aim(index, "");
    const last = nameOf(index.keys.at(-1));
    const shown = `${key} AS c1, count(*) AS c2, max( ${last} ) AS c3`;
    const order = this.#random.pick(["", "ORDER BY c1", "ORDER BY c1 DESC LIMIT 2"]);
    return `SELECT ${shown} FROM ${index.collection} WHERE ${condition} GROUP BY ${key} ${order}`;
  }

  #counted(index: AimedIndex, others: readonly AimedIndex[]): string {
    const { condition } = this.#aim(index, "");
    if (this.#random.oneIn(4)) return `SELECT count(*) AS c1 FROM ${index.collection}`;
    const shown = this.#random.pick([
      "count(*) AS c1",
      "sum( k ) AS c1, count( b ) AS c2",
      "DISTINCT k AS c1",
      `min( ${nameOf(index.keys.at(-1))} ) AS c1`,
    ]);
    return `SELECT ${shown} FROM ${index.collection} WHERE ${this.#withMore(condition, others)}`;
  }

  /** Each row of the other side is looked up in the index. */
  #joined({ collection, keys }: AimedIndex): string {
    const random = this.#random;
    const other = random.pick(["things", "others"]);
    const [first, second] = keys;
    const links = [`y.${nameOf(first)} = x.${nameOf(first)}`];
    if (second !== undefined) {
      const name = nameOf(second);
      const more = [`y.${name} = x.${name}`, `y.${name} >= x.${name}`, `x.k = 1`, ""];
      links.push(random.pick(more));
    } else if (random.oneIn(3)) links.push(`y.b ${random.pick(["=", ">"])} x.b`);
    const on = links.filter((link) => link !== "").join(" AND ");
    const shown = random.pick([
      "x._id AS c1, y._id AS c2",
      `x.k AS c1, y.${nameOf(first)} AS c2, y._id AS c3`,
      "*",
      "count(*) AS c1",
    ]);
    const kind = random.pick(["JOIN", "JOIN", "LEFT JOIN", "RIGHT JOIN"]);
    const where = random.pick(["", "WHERE x.k = 1", "WHERE y IS MISSING", "WHERE x.b > 0"]);
    return `SELECT ${shown} FROM ${other} x ${kind} ${collection} y ON ${on} ${where}`;
  }

  /** A query that is asked for each row, or once for all. */
  #nested(index: AimedIndex): string {
    const random = this.#random;
    const { collection, keys } = index;
    const path = nameOf(keys[0]);
    const { condition, order } = this.#aim(index, "y.");
    const linked = `y.${path} = x.${path}`;
    const inner = random.pick([condition, linked, `${linked} AND ${condition}`]);
    const few = order === "" || random.oneIn(2) ? "" : `ORDER BY ${order} LIMIT 2`;
    const query = `SELECT y.${path} FROM ${collection} y WHERE ${inner} ${few}`;
    const test = random.pick([`x.${path} IN ( ${query} )`, `EXISTS ( ${query} )`]);
    return `SELECT x._id AS c1 FROM ${random.pick(["things", "others"])} x WHERE ${test}`;
  }

  /** More that must hold, or another way to be found. */
  #withMore(condition: string, others: readonly AimedIndex[]): string {
    const random = this.#random;
    const second = others.length === 0 || random.oneIn(3) ? undefined : random.pick(others);
    switch (random.below(5)) {
      case 0:
        return `( ${condition} AND ${this.#beside(second)} )`;
      case 1:
        return `( ${condition} OR ${this.#beside(second)} )`;
      case 2:
        return random.oneIn(2)
          ? `( ${condition} AND ${random.pick(this.#conditions)} )`
          : condition;
      default:
        return condition;
    }
  }

  #beside(index: AimedIndex | undefined): string {
    if (index !== undefined) return this.#aim(index, "").condition;
    return this.#random.pick(["( _id = 'd1' )", "( _id < 'd2' )", "( _id IN :ids )"]);
  }

  /** Few rather than many: of what is asked for too exactly there is none. */
  #pointCount(keys: readonly IndexKey[]): number {
    const count = keys.length + 1;
    return Math.min(this.#random.below(count), this.#random.below(count));
  }

  /** Points for the first keys, a range of the next, and an order from there on. */
  #aim({ keys }: AimedIndex, prefix: string, points = this.#pointCount(keys)): Aim {
    const random = this.#random;
    const tests = keys.slice(0, points).map((key) => this.#point(prefix, nameOf(key)));
    const next = keys[points];
    const isRange = next !== undefined && (points === 0 || random.oneIn(2));
    if (isRange) tests.push(this.#range(prefix, nameOf(next)));
    const order = random.oneIn(3) ? "" : this.#order(keys, points, prefix);
    return { condition: tests.join(" AND "), order };
  }

  #value(path: string): string {
    return this.#random.pick(valuesAt(path));
  }

  #point(prefix: string, path: string): string {
    const name = prefix + path;
    const value = this.#value(path);
    switch (this.#random.below(12)) {
      case 0:
        return `( ${name} IN ( ${value}, ${this.#value(path)}, ${this.#value(path)} ) )`;
      case 1:
        return `( ${name} IS NULL )`;
      case 2:
        return `( ${name} IS MISSING )`;
      case 3:
        return `( ${value} = ${name} )`;
      default:
        return `( ${name} = ${value} )`;
    }
  }

  #range(prefix: string, path: string): string {
    const random = this.#random;
    const name = prefix + path;
    const [low, high] = [this.#value(path), this.#value(path)];
    const above = `${name} ${random.pick([">", ">="])} ${low}`;
    const below = `${name} ${random.pick(["<", "<="])} ${high}`;
    return random.pick([
      `( ${above} )`,
      `( ${below} )`,
      `( ${above} )`,
      `( ${below} )`,
      `( ${above} AND ${below} )`,
      `( ${name} BETWEEN ${low} AND ${high} )`,
      `( ${name} LIKE ${random.pick(BEGINNINGS)} )`,
      `( ${name} IS NOT MISSING )`,
    ]);
  }

  /** Along the index or against it; shorter than it, so that there are ties, or with the id behind. */
  #order(keys: readonly IndexKey[], points: number, prefix: string): string {
    const random = this.#random;
    const isAgainst = random.oneIn(2);
    const rest = keys.slice(points, points + 1 + random.below(keys.length));
    const terms = rest.map((key) => {
      const isDescending = key.isDescending !== isAgainst;
      return `${prefix}${nameOf(key)}${isDescending ? " DESC" : ""}`;
    });
    // What is the same in all rows may stand anywhere.
    const fixed = keys[random.below(keys.length)];
    if (points > 0 && random.oneIn(4)) terms.unshift(prefix + nameOf(fixed));
    if (random.oneIn(5)) terms.push(against(terms.pop() ?? `${prefix}k`));
    if (random.oneIn(4)) terms.push(`${prefix}_id${random.pick(["", " DESC"])}`);
    return terms.length === 0 ? `${prefix}k` : terms.join(", ");
  }

  /** Mostly such as the index holds. */
  #columns({ keys }: AimedIndex, prefix: string): string {
    const random = this.#random;
    const all = keys.map((key, i) => `${prefix}${nameOf(key)} AS c${i + 1}`).join(", ");
    return random.pick([
      `${prefix}_id`,
      all,
      `${all}, ${prefix}_id`,
      `${all}, ${prefix}n AS c9`,
      "*",
    ]);
  }
}

/** Null where no index has it. */
function against(term: string): string {
  return `${term} NULLS ${term.endsWith(" DESC") ? "LAST" : "FIRST"}`;
}

function nameOf(key: IndexKey | undefined): string {
  return key?.path.join(".") ?? "k";
}

/** Keys as they are written. */
export function keysOf(text: string): readonly IndexKey[] {
  const { statement } = parseStatement(`CREATE INDEX i ON c (${text})`);
  if (statement.kind !== "create_index") throw new Error("expected an index");
  return statement.keys;
}
