/**
 * Every operator and every other kind of expression with long, deep and hostile operands of growing
 * size, as function-growth.test.ts has it for functions. The tables name every kind that the syntax tree
 * has: what is new there does not compile here.
 */
import { describe, expect, test } from "vitest";
import { oneOf } from "../../../protocol/test/support/test-size.ts";
import { compile } from "../../src/query/compile/expression.ts";
import { newFrame } from "../../src/query/frame/frame.ts";
import { AGGREGATE_NAMES, startAggregate } from "../../src/query/functions/aggregate.ts";
import type {
  BinaryOperator,
  Expression,
  LikeNode,
  QuantifierNode,
  UnaryNode,
} from "../../src/query/syntax/tree.ts";
import type { CastType } from "../../src/query/value/cast.ts";
import { type Datum, isDatumArray } from "../../src/query/value/datum.ts";
import { SUBJECTS, TOOLS } from "../support/hostile-argument.ts";
import type { HostileCall } from "../support/hostile-call.ts";
import { COUNTING_MS_MAX, faultsOf } from "../support/hostile-verdict.ts";
import type { MeteredCall } from "../support/metered-call.ts";

/** The operand of a number: what stands in a slot. */
function operand(slot: number): Expression {
  return { kind: "slot", slot, holds: "value", name: "", at: 0 };
}

/** Evaluates an expression over operands. */
function evaluation(node: Expression, operands: readonly Datum[]): MeteredCall {
  const evaluate = compile(node);
  return (run) => {
    const frame = newFrame(run, operands.length + 2);
    for (const [slot, datum] of operands.entries()) frame.slots[slot] = datum;
    return evaluate(frame);
  };
}

type Make = (size: number) => readonly Datum[];

function hostile(name: string, node: Expression, make: Make): HostileCall {
  return { name, at: (size) => evaluation(node, make(size)) };
}

/** Two operands that are equal, and of each kind with a tool. */
const PAIRS: readonly (readonly [string, Make])[] = [
  ...Object.entries(SUBJECTS).map(([kind, make]): readonly [string, Make] => [
    kind,
    (size) => [make(size), make(size)],
  ]),
  ["text and needle", (size) => [SUBJECTS.text?.(size), TOOLS.needle?.(size)]],
];

/** For what looks at no more than the type of its operands. */
const FEW_PAIRS = PAIRS.filter(([kind]) => ["text", "numbers", "nested", "fields"].includes(kind));

const BINARY: Readonly<Record<BinaryOperator, true>> = {
  "+": true,
  "-": true,
  "*": true,
  "/": true,
  "%": true,
  "=": true,
  "!=": true,
  "<": true,
  "<=": true,
  ">": true,
  ">=": true,
  "||": true,
  and: true,
  or: true,
};

/** Operators that go into their operands. */
const COMPARING: ReadonlySet<BinaryOperator> = new Set<BinaryOperator>(["=", "<", "||"]);

const UNARY: Readonly<Record<UnaryNode["operator"], true>> = { "-": true, "+": true, not: true };
const LIKES: Readonly<Record<LikeNode["operator"], true>> = {
  like: true,
  ilike: true,
  similar: true,
};
const QUANTIFIERS: Readonly<Record<QuantifierNode["quantifier"], true>> = {
  any: true,
  every: true,
  any_and_every: true,
};
const CASTS: Readonly<Record<CastType, true>> = {
  integer: true,
  float: true,
  string: true,
  boolean: true,
  binary: true,
  array: true,
  object: true,
};

function keysOf<K extends string>(table: Readonly<Record<K, true>>): K[] {
  return Object.keys(table) as K[];
}

/** Patterns for texts of many `a`: each as long as it may be without growing itself. */
const PATTERNS: Readonly<Record<string, string>> = {
  open: `%${"_a".repeat(400)}b%`,
  pieces: "%a".repeat(200),
  literal: `%${"a".repeat(300)}b%`,
  ends: "a%b",
};

const TEXTS = ["text", "letters", "pairs"];

function likeCalls(operator: LikeNode["operator"]): HostileCall[] {
  const node = (pattern: Expression): Expression => ({
    kind: "like",
    operator,
    isNegated: false,
    operand: operand(0),
    pattern,
    at: 0,
  });
  const calls: HostileCall[] = [];
  for (const kind of TEXTS) {
    for (const [name, pattern] of Object.entries(PATTERNS)) {
      // A pattern of SIMILAR TO is matched by the host: it has bounds of its own.
      if (operator === "similar" && name !== "ends") continue;
      const make: Make = (size) => [SUBJECTS[kind]?.(size)];
      calls.push(hostile(`${kind} ${operator} ${name}`, node(literal(pattern)), make));
    }
  }
  const growing: Make = (size) => [SUBJECTS.text?.(size), "%a".repeat(size / 2)];
  calls.push(hostile(`${operator} of a growing pattern`, node(operand(1)), growing));
  return calls;
}

function literal(value: string | number): Expression {
  return { kind: "literal", value, at: 0 };
}

/** A loop over an array, whose variable is in the slot behind the operands. */
function loopCalls(node: (source: Expression) => Expression): HostileCall[] {
  return ["numbers", "texts", "objects", "nested", "fields", "longTexts"].map((kind) =>
    hostile(kind, node(operand(0)), (size) => [SUBJECTS[kind]?.(size)]),
  );
}

const BINDING = { value: "x", isDeep: true, slots: [1] };

/** Expressions of each kind; none where nothing can grow. */
const KINDS: Readonly<Record<Exclude<Expression["kind"], "name">, () => HostileCall[]>> = {
  literal: () => [],
  missing: () => [],
  parameter: () => [],
  slot: () => [],
  field: () =>
    FEW_PAIRS.map(([name, make]) =>
      hostile(name, { kind: "field", of: operand(0), name: "k1", at: 0 }, make),
    ),
  element: () =>
    FEW_PAIRS.map(([name, make]) =>
      hostile(name, { kind: "element", of: operand(0), index: literal(1), at: 0 }, make),
    ),
  array: () => [
    {
      name: "many elements",
      at: (size) => evaluation({ kind: "array", elements: many(size), at: 0 }, ["a"]),
    },
  ],
  object: () => [
    {
      name: "many fields",
      at: (size) =>
        evaluation(
          {
            kind: "object",
            entries: many(size).map((value, i) => ({ key: literal(`k${i}`), value })),
            at: 0,
          },
          ["a"],
        ),
    },
  ],
  unary: () =>
    keysOf(UNARY).flatMap((operator) =>
      FEW_PAIRS.map(([name, make]) =>
        hostile(
          `${operator} ${name}`,
          { kind: "unary", operator, operand: operand(0), at: 0 },
          make,
        ),
      ),
    ),
  binary: () =>
    keysOf(BINARY).flatMap((operator) =>
      (COMPARING.has(operator) ? PAIRS : FEW_PAIRS).map(([name, make]) =>
        hostile(
          `${operator} ${name}`,
          { kind: "binary", operator, left: operand(0), right: operand(1), at: 0 },
          make,
        ),
      ),
    ),
  is: () =>
    FEW_PAIRS.map(([name, make]) =>
      hostile(
        name,
        { kind: "is", what: "null", isNegated: false, operand: operand(0), at: 0 },
        make,
      ),
    ),
  in: () =>
    loopCalls((source) => ({
      kind: "in",
      isNegated: false,
      operand: literal("same"),
      list: source,
      at: 0,
    })),
  between: () =>
    PAIRS.map(([name, make]) =>
      hostile(
        name,
        {
          kind: "between",
          isNegated: false,
          operand: operand(0),
          low: operand(1),
          high: operand(1),
          at: 0,
        },
        make,
      ),
    ),
  like: () => keysOf(LIKES).flatMap(likeCalls),
  case: () => [
    {
      name: "many branches",
      at: (size) =>
        evaluation(
          {
            kind: "case",
            subject: operand(0),
            whens: many(size / 4).map((result, i) => ({ when: literal(`w${i}`), result })),
            at: 0,
          },
          [SUBJECTS.text?.(size)],
        ),
    },
  ],
  cast: () =>
    keysOf(CASTS).flatMap((type) =>
      Object.entries(SUBJECTS).map(([kind, make]) =>
        hostile(
          `${kind} as ${type}`,
          { kind: "cast", operand: operand(0), type, at: 0 },
          (size) => [make(size)],
        ),
      ),
    ),
  quantifier: () =>
    keysOf(QUANTIFIERS).flatMap((quantifier) =>
      loopCalls((source) => ({
        kind: "quantifier",
        quantifier,
        binding: { ...BINDING, source },
        condition: {
          kind: "binary",
          operator: quantifier === "any" ? "=" : "!=",
          left: operand(1),
          right: literal("never"),
          at: 0,
        },
        at: 0,
      })),
    ),
  comprehension: () =>
    loopCalls((source) => ({
      kind: "comprehension",
      binding: { ...BINDING, source },
      value: operand(1),
      at: 0,
    })),
  // Those of the table, each with all kinds of arguments, are in function-growth.test.ts.
  call: () => [],
  // A query has rows, each of which counts.
  subquery: () => [],
};

function many(count: number): Expression[] {
  return Array.from({ length: count }, () => operand(0));
}

test.each(
  oneOf(
    3,
    Object.entries(KINDS).filter(([, make]) => make().length > 0),
  ),
)(
  "the work of %s grows with its operands, and the budget counts it",
  async (_, make) => {
    expect(await faultsOf(oneOf(3, make()))).toEqual([]);
  },
  COUNTING_MS_MAX,
);

describe("aggregates", () => {
  test.each(
    oneOf(
      3,
      AGGREGATE_NAMES.flatMap((name) => [[name, false] as const, [name, true] as const]),
    ),
  )(
    "the work of %s grows with its rows, DISTINCT %s",
    async (name, isDistinct) => {
      const calls = ["numbers", "texts", "equals", "objects", "longTexts"].map((kind) => ({
        name: kind,
        at: (size: number): MeteredCall => {
          const rows = SUBJECTS[kind]?.(size);
          return (run) => {
            const aggregate = startAggregate(name, isDistinct, run);
            // Each row counts a step where it is pulled.
            for (const row of isDatumArray(rows) ? rows : []) {
              run.budget.step();
              aggregate.add(row);
            }
            return aggregate.result();
          };
        },
      }));
      expect(await faultsOf(calls)).toEqual([]);
    },
    COUNTING_MS_MAX,
  );
});
