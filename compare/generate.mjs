/**
 * Generator of cases over the whole language: expressions of every kind and function, every clause
 * of SELECT, every mutation, indexes, settings and plans. A case is a list of statements, of which
 * the last ones are compared. It names the rule that generated it.
 *
 * Most operands have the type that their place expects, and some have any type, because most
 * differences are between types, null and MISSING. Features that the reference engine does not have
 * (UNION, queries in expressions, UNNEST, some functions) are rare. They appear as listed
 * differences.
 */
import { CASES } from "./case-rules.mjs";
import { ARGUMENTS, MUTABLE } from "./documents.mjs";
import { COMPOUNDS } from "./expression-rules.mjs";
import { AGGREGATES, FUNCTIONS, VOLATILE, WORDS } from "./functions.mjs";
import { Random } from "./random.mjs";

/** Share of operands of any kind instead of the expected kind. */
const HOSTILE = 0.12;
const DEPTH_MAX = 2;

/** Share of calls of functions that the reference does not have. */
const OURS_ONLY = 0.004;
const OURS_FUNCTIONS = ["replace", "regexp_replace"];
const SHARED_FUNCTIONS = Object.keys(FUNCTIONS).filter((name) => !OURS_FUNCTIONS.includes(name));

const PATHS = {
  number: ["i", "j", "f", "o.k", "a[0]"],
  text: ["s", "t", "g", "s", "o.l"],
  boolean: ["b", "b"],
  array: ["a", "a", "x"],
  object: ["o", "o", "o.k"],
  any: [
    "i",
    "j",
    "f",
    "s",
    "b",
    "a",
    "o",
    "n",
    "d",
    "x",
    "absent",
    "o.k",
    "a[1]",
    "o.k.m",
    "_id",
    "t",
  ],
};

const LITERALS = {
  number: ["0", "1", "2", "-3", "2.5", "0.5", "10", "7", "1e3", "0xA", ":number", ":float"],
  text: ["''", "'a'", "'abc'", "'B'", "'x,y'", '"q"', ":text", "'ö'", "'1'"],
  boolean: ["true", "false", ":flag"],
  array: ["[1, 2]", "[]", "['a', 'b']", "[1, null]", ":list", ":names", "[[1], [2, 3]]"],
  object: ["{'k': 1}", "{}", "{'k': 2, 'z': [1]}", ":object"],
  any: ["null", "missing", "1", "'a'", "true", "[1]", "{'k': 1}", ":nothing", "2.5"],
};

const KINDS = ["number", "text", "boolean", "array", "object", "any"];

export class Generator {
  #random;
  /** How often each rule was used. */
  used = new Map();
  #depth = 0;
  #variables = [];

  constructor(seed) {
    this.#random = new Random(seed);
  }

  #use(rule) {
    this.used.set(rule, (this.used.get(rule) ?? 0) + 1);
  }

  /** The next case: `statements` to run, of which those from `compared` on are compared. */
  next() {
    const [rule, make] = this.#random.weighed(CASES);
    this.#use(rule);
    this.#depth = 0;
    this.#variables = [];
    return { rule, ...make(this, this.#random) };
  }

  /** Generates an operand of the kind, or sometimes of any kind. */
  expression(kind = "any") {
    const random = this.#random;
    const asked = kind !== "any" && random.chance(HOSTILE) ? "any" : kind;
    if (asked in WORDS) return random.pick(WORDS[asked]);
    if (this.#depth >= DEPTH_MAX || random.chance(0.35)) return this.#leaf(asked);
    this.#depth++;
    const made = this.#compound(asked === "any" ? random.pick(KINDS) : asked);
    this.#depth--;
    return made;
  }

  #leaf(kind) {
    const random = this.#random;
    if (this.#variables.length > 0 && random.chance(0.5)) return random.pick(this.#variables);
    return random.pick(random.chance(0.65) ? PATHS[kind] : LITERALS[kind]);
  }

  #compound(kind) {
    const rules = COMPOUNDS[kind] ?? COMPOUNDS.any;
    const [rule, make] = this.#random.weighed(rules);
    this.#use(rule);
    return make(this, this.#random);
  }

  /** Generates an expression with a variable for elements. */
  within(variable, make) {
    this.#variables.push(variable);
    const made = make();
    this.#variables.pop();
    return made;
  }

  call(name, kinds) {
    const random = this.#random;
    this.#use(`function ${name}`);
    const args = [];
    for (const kind of kinds) {
      const plain = kind.replace(/[?*]$/, "");
      if (kind.endsWith("?") && random.chance(0.5)) break;
      const count = kind.endsWith("*") ? random.below(3) : 1;
      for (let i = 0; i < count; i++) args.push(this.expression(plain));
    }
    return `${name}(${args.join(", ")})`;
  }

  anyCall() {
    const random = this.#random;
    const names = random.chance(OURS_ONLY) ? OURS_FUNCTIONS : SHARED_FUNCTIONS;
    const name = random.pick(names);
    return this.call(name, FUNCTIONS[name]);
  }

  condition() {
    return this.expression("boolean");
  }

  aggregate() {
    const random = this.#random;
    const name = random.chance(0.03) ? "array_agg" : random.pick(SHARED_AGGREGATES);
    this.#use(`aggregate ${name}`);
    if (name === "count" && random.chance(0.4)) return "count(*)";
    const argument = random.pick([
      "i",
      "j",
      "f",
      "s",
      "b",
      "n",
      "x",
      "absent",
      "i + 1",
      "b = true",
    ]);
    return `${name}(${random.chance(0.2) ? "DISTINCT " : ""}${argument})`;
  }
}

const SHARED_AGGREGATES = AGGREGATES.filter((name) => name !== "array_agg");

/** Names of all rules of cases and expressions. */
export const RULE_NAMES = [
  ...new Set([...CASES, ...Object.values(COMPOUNDS).flat()].map(([, [name]]) => name)),
  ...["position", ...Object.keys({ ...FUNCTIONS, ...VOLATILE })].map((name) => `function ${name}`),
  ...AGGREGATES.map((name) => `aggregate ${name}`),
];

/** Arguments of each statement of a run. */
export const STATEMENT_ARGUMENTS = { ...ARGUMENTS, start: MUTABLE };
