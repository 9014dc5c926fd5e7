/**
 * Generated trees of the statement language: all that the parser can make, and nothing else.
 *
 * What it never makes is left out: a sign before a number (it becomes part of it), a parenthesis
 * behind IN that is no list, keys that stand twice.
 */
import type { TypeMark, Types } from "@bigpeer/protocol";
import * as fc from "fast-check";
import { decimalValue, negative } from "../../../src/query/syntax/number-literal.ts";
import type {
  Binding,
  CollectionRef,
  Expression,
  FromTerm,
  ObjectEntry,
  OrderTerm,
  Projection,
  SelectStatement,
  SourceTerm,
  Statement,
  Use,
} from "../../../src/query/syntax/tree.ts";
import { anyUnnest, hasFewQueries, smallQuery, unionOf } from "./generated-query-tree.ts";

const at = 0;

/** Plain words, keywords, and what needs backticks. */
const anyName = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom("a", "b", "_id", "kind", "x9", "Name") },
  {
    weight: 2,
    arbitrary: fc.constantFrom(
      ..."from select value order end null true not any array case cast default list all".split(
        " ",
      ),
      ..."distinct as in is group limit set use raw element both leading missing e if".split(" "),
    ),
  },
  fc.string({ unit: "grapheme", maxLength: 6 }),
);

const anyText = fc.oneof(
  fc.constantFrom("", "it's", 'say "hi"', "back\\slash", "a\nb\tc\r", "`", "\0", "😀", "\\u0041"),
  fc.string({ unit: "grapheme" }),
);

/** Numbers as they come from the lexer, with or without a sign. */
const anyNumber = fc
  .tuple(
    fc.oneof(
      fc.nat().map(String),
      fc.bigInt({ min: 0n, max: 2n ** 66n }).map(String),
      fc.double({ min: 0, noNaN: true, noDefaultInfinity: true }).map((n) => n.toExponential()),
      fc.constantFrom("0.0", "1e309", "5e-324", "9223372036854775808", "2.0", "0.1"),
    ),
    fc.boolean(),
  )
  .map(([digits, isNegative]) => {
    const number = decimalValue(digits, /[.e]/.test(digits));
    return isNegative ? negative(number) : number;
  });

const anyFunction = fc.oneof(
  fc.constantFrom("upper", "count", "trim", "ltrim", "position", "substring", "cast", "on", "not"),
  anyName.map((name) => name.toLowerCase()),
);

interface Trees {
  expression: Expression;
  /** What may stand before `.name`, `[0]` and `.*` without parentheses. */
  path: Expression;
  binding: Binding;
}

function leaves(): fc.Arbitrary<Expression>[] {
  const scalar = fc.oneof(fc.constantFrom(null, true, false), anyText, anyNumber);
  return [
    scalar.map((value) => ({ kind: "literal", at, value })),
    fc.constant({ kind: "missing", at }),
    anyName.map((name) => ({ kind: "parameter", at, name })),
    anyName.map((name) => ({ kind: "name", at, name })),
  ];
}

/** Nodes of a kind; the types of their fields are the generator's own affair. */
function kind<T extends object>(
  name: Expression["kind"],
  fields: { [F in keyof T]: fc.Arbitrary<T[F]> },
  optional: readonly (keyof T)[] = [],
): fc.Arbitrary<Expression> {
  const requiredKeys = (Object.keys(fields) as (keyof T)[]).filter(
    (key) => !optional.includes(key),
  );
  return fc
    .record(fields, { requiredKeys })
    .map((rest) => ({ kind: name, at, ...rest }) as unknown as Expression);
}

const trees = fc.letrec<Trees>((tie: fc.LetrecTypedTie<Trees>) => {
  const any = tie("expression");
  const operand = any;
  const binding = tie("binding");
  const isNegated = fc.boolean();
  // oxlint-disable-next-line unicorn/no-thenable -- the name is the tree's, and nobody awaits it
  const clause = fc.record({ when: any, result: any });
  // One that is written is one character.
  const anyEscape = any.map((tree) => (tree.kind === "literal" ? { ...tree, value: "!" } : tree));
  const composed: fc.Arbitrary<Expression>[] = [
    kind("field", { of: operand, name: anyName }),
    kind("element", { of: operand, index: any }),
    kind("array", { elements: fc.array(any, { maxLength: 3 }) }),
    objects(any),
    kind("unary", { operator: fc.constant("not"), operand }),
    fc.tuple(fc.constantFrom("-" as const, "+" as const), operand).map(signed),
    kind("binary", {
      operator: fc.constantFrom(..."= != < <= > >= + - * / % || and or".split(" ")),
      left: operand,
      right: operand,
    }),
    kind("is", { what: fc.constantFrom("null", "missing"), isNegated, operand }),
    kind("in", { isNegated, operand, list: tie("path") }),
    kind("in", {
      isNegated,
      operand,
      list: kind("unary", { operator: fc.constant("not"), operand }),
    }),
    kind("in", {
      isNegated,
      operand,
      list: kind("array", { elements: fc.array(any, { maxLength: 3 }) }),
    }),
    kind("in", { isNegated, operand, list: subquery("members") }),
    subquery("exists"),
    kind("between", { isNegated, operand, low: any, high: any }),
    kind(
      "like",
      {
        operator: fc.constantFrom("like", "ilike", "similar"),
        isNegated,
        operand,
        pattern: any,
        escape: anyEscape,
      },
      ["escape"],
    ),
    kind(
      "case",
      {
        subject: any,
        whens: fc.array(clause, { minLength: 1, maxLength: 2 }),
        otherwise: any,
      },
      ["subject", "otherwise"],
    ),
    kind("cast", {
      operand,
      type: fc.constantFrom("integer", "float", "string", "boolean", "binary", "array", "object"),
    }),
    kind("quantifier", {
      quantifier: fc.constantFrom("any", "every", "any_and_every"),
      binding,
      condition: any,
    }),
    kind("comprehension", { key: any, value: any, binding, condition: any }, ["key", "condition"]),
    calls(any),
  ];
  const steps = [
    kind("field", { of: tie("path"), name: anyName }),
    kind("element", { of: tie("path"), index: any }),
  ];
  const names = [
    anyName.map((name): Expression => ({ kind: "name", at, name })),
    anyName.map((name): Expression => ({ kind: "parameter", at, name })),
  ];
  return {
    // At the greatest depth the first of the list is taken.
    expression: fc.oneof(
      { maxDepth: 4, depthIdentifier: "tree" },
      { weight: 4, arbitrary: fc.oneof(...leaves()) },
      ...composed,
    ),
    path: fc.oneof(
      { maxDepth: 4, depthIdentifier: "tree" },
      { weight: 2, arbitrary: fc.oneof(...names) },
      ...steps,
    ),
    binding: fc.record(
      { position: anyName, value: anyName, isDeep: fc.boolean(), source: any },
      { requiredKeys: ["value", "isDeep", "source"] },
    ),
  };
});

/** A sign stays a node only before what is no constant, or a plus before no number. */
function signed([sign, operand]: readonly ["-" | "+", Expression]): Expression {
  const isFolded =
    operand.kind === "literal" &&
    (sign === "-" || typeof operand.value === "number" || !isPlain(operand.value));
  if (isFolded) return operand;
  return { kind: "unary", at, operator: sign, operand };
}

function isPlain(value: unknown): boolean {
  return value === null || typeof value === "string" || typeof value === "boolean";
}

/** A query whose expressions are small. */
function subquery(purpose: "exists" | "members"): fc.Arbitrary<Expression> {
  const query = smallQuery({ expression: fc.oneof(...leaves()), name: anyName });
  return kind("subquery", { purpose: fc.constant(purpose), query });
}

/** Keys are strings, each once, or expressions. */
function objects(any: fc.Arbitrary<Expression>): fc.Arbitrary<Expression> {
  const key = fc.oneof(
    anyText.map((value): Expression => ({ kind: "literal", at, value })),
    any.filter((expression) => expression.kind !== "literal"),
  );
  const entry: fc.Arbitrary<ObjectEntry> = fc.record({ key, value: any });
  const keyOf = ({ key: given }: ObjectEntry): unknown =>
    given.kind === "literal" ? given.value : given;
  return fc
    .uniqueArray(entry, { maxLength: 3, selector: keyOf })
    .map((entries) => ({ kind: "object", at, entries }));
}

function calls(any: fc.Arbitrary<Expression>): fc.Arbitrary<Expression> {
  const args = fc.array(any, { minLength: 1, maxLength: 3 });
  return fc.oneof(
    kind("call", { name: anyFunction, args }),
    kind("call", { name: anyFunction, args: fc.constant([]) }),
    kind("call", {
      name: fc.constantFrom("count", "sum", "filter_contains"),
      args,
      isDistinct: fc.constant(true),
    }),
    kind("call", { name: fc.constant("count"), args: fc.constant([]), isStar: fc.constant(true) }),
  );
}

export const anyExpression: fc.Arbitrary<Expression> = trees.expression;

const anyMark: fc.Arbitrary<TypeMark> = fc.letrec<{ mark: TypeMark; types: Types }>((tie) => ({
  mark: fc.oneof(
    { maxDepth: 2 },
    fc.constantFrom<TypeMark>("register", "counter", "pn_counter", "attachment", "map"),
    tie("types"),
  ),
  types: fc.dictionary(anyName, tie("mark"), { maxKeys: 3 }),
})).mark;

const anyCollectionName: fc.Arbitrary<CollectionRef> = fc.record(
  {
    at: fc.constant(at),
    namespace: fc.oneof(fc.constant("system"), anyName).filter((name) => name !== "default"),
    name: anyName,
  },
  { requiredKeys: ["at", "name"] },
);

const anyCollection: fc.Arbitrary<CollectionRef> = fc.oneof(
  anyCollectionName,
  fc
    .tuple(anyCollectionName, fc.dictionary(anyName, anyMark, { maxKeys: 3 }))
    .map(([name, types]) => ({ ...name, types })),
);

const anyUse: fc.Arbitrary<Use> = fc.oneof(
  fc.record({
    kind: fc.constant("ids" as const),
    ids: fc.array(anyExpression, { minLength: 1, maxLength: 2 }),
  }),
  fc.record({ kind: fc.constant("id_list" as const), list: anyExpression }),
  fc.record({
    kind: fc.constant("index" as const),
    names: fc.array(
      anyText.filter((text) => text !== ""),
      { maxLength: 1 },
    ),
  }),
  fc.record({ kind: fc.constant("directives" as const), json: anyText }),
);

const anyTerm: fc.Arbitrary<FromTerm> = fc.record(
  { collection: anyCollection, alias: anyName, use: anyUse },
  { requiredKeys: ["collection"] },
);

const anyProjection: fc.Arbitrary<Projection> = fc.oneof(
  fc.constant({ kind: "all" as const, at }),
  trees.path.map((of) => ({ kind: "all_of" as const, of, at })),
  fc.record(
    {
      kind: fc.constant("column" as const),
      at: fc.constant(at),
      expression: anyExpression,
      alias: anyName,
    },
    { requiredKeys: ["kind", "at", "expression"] },
  ),
  // Only of a path without an alias does it matter that it stands in parentheses.
  trees.path
    .filter(({ kind: path }) => path === "name" || path === "field")
    .map((expression) => ({ kind: "column" as const, at, expression, isWrapped: true })),
);

const anyProjections = fc.array(anyProjection, { minLength: 1, maxLength: 3 });

const anyOrder: fc.Arbitrary<OrderTerm[]> = fc.array(
  fc.record(
    {
      expression: anyExpression,
      isDescending: fc.boolean(),
      nulls: fc.constantFrom("first" as const, "last" as const),
    },
    { requiredKeys: ["expression", "isDescending"] },
  ),
  { maxLength: 2 },
);

const anyBound: fc.Arbitrary<Expression> = fc.oneof(
  fc.nat().map((value): Expression => ({ kind: "literal", at, value })),
  anyName.map((name): Expression => ({ kind: "parameter", at, name })),
);

const anySource: fc.Arbitrary<SourceTerm> = fc.oneof(
  { weight: 5, arbitrary: anyTerm },
  {
    weight: 1,
    arbitrary: fc.record({
      at: fc.constant(at),
      query: smallQuery({ expression: anyExpression, name: anyName }),
      alias: anyName,
    }),
  },
);

const anyJoins = fc.array(
  fc.oneof(
    {
      weight: 3,
      arbitrary: fc.record({
        at: fc.constant(at),
        type: fc.constantFrom("inner" as const, "left" as const, "right" as const),
        term: anySource,
        on: anyExpression,
      }),
    },
    { weight: 1, arbitrary: anyUnnest({ expression: anyExpression, name: anyName }) },
  ),
  { maxLength: 2 },
);

const anySelect: fc.Arbitrary<SelectStatement> = fc
  .record(
    {
      kind: fc.constant("select" as const),
      at: fc.constant(at),
      isDistinct: fc.boolean(),
      isRaw: fc.boolean(),
      projections: anyProjections,
      from: anySource,
      joins: anyJoins,
      where: anyExpression,
      groupBy: fc.array(anyExpression, { minLength: 1, maxLength: 2 }),
      having: anyExpression,
      orderBy: anyOrder,
      limit: anyBound,
      offset: anyBound,
    },
    {
      requiredKeys: [
        "kind",
        "at",
        "isDistinct",
        "isRaw",
        "projections",
        "from",
        "joins",
        "orderBy",
      ],
    },
  )
  .map((select) => (select.isRaw ? { ...select, projections: [wholeRow(select.from)] } : select));

/** The only projection of SELECT VALUE. */
function wholeRow(term: SourceTerm): Projection {
  const name = "query" in term ? term.alias : (term.alias ?? term.collection.name);
  const expression: Expression = { kind: "name", at, name };
  return { kind: "column", at, expression };
}

const anyPath = fc.array(anyName, { minLength: 1, maxLength: 3 });

const selection = {
  term: anyTerm,
  where: anyExpression,
  orderBy: anyOrder,
  limit: anyBound,
  offset: anyBound,
  returning: anyProjections,
};

const anyApplyItem = fc.oneof(
  fc.record({
    at: fc.constant(at),
    path: anyPath,
    method: fc.constantFrom("increment" as const, "pn_increment" as const, "restart" as const),
    value: anyExpression,
  }),
  fc.record({ at: fc.constant(at), path: anyPath, method: fc.constant("restart" as const) }),
);

const anyMutation: fc.Arbitrary<Statement>[] = [
  fc
    .record(
      {
        kind: fc.constant("insert" as const),
        at: fc.constant(at),
        into: anyCollection,
        isInitial: fc.boolean(),
        source: fc.oneof(
          fc.record({
            kind: fc.constant("documents" as const),
            documents: fc.array(anyExpression, { minLength: 1, maxLength: 2 }),
          }),
          anySelect,
          unionOf(anySelect),
        ),
        conflict: fc.constantFrom(
          "fail" as const,
          "nothing" as const,
          "update" as const,
          "merge" as const,
          "update_local_diff" as const,
        ),
        returning: anyProjections,
      },
      { requiredKeys: ["kind", "at", "into", "isInitial", "source", "conflict"] },
    )
    .map((insert) => {
      const isInitial = insert.isInitial && insert.source.kind === "documents";
      return { ...insert, isInitial, conflict: isInitial ? "fail" : insert.conflict };
    }),
  fc
    .record(
      {
        kind: fc.constant("update" as const),
        at: fc.constant(at),
        apply: fc.array(anyApplyItem, { maxLength: 2 }),
        set: fc.array(fc.record({ at: fc.constant(at), path: anyPath, value: anyExpression }), {
          maxLength: 2,
        }),
        unset: fc.array(fc.record({ at: fc.constant(at), path: anyPath }), { maxLength: 2 }),
        ...selection,
      },
      { requiredKeys: ["kind", "at", "apply", "set", "unset", "term", "orderBy"] },
    )
    .filter(({ apply, set, unset }) => apply.length + set.length + unset.length > 0),
  fc.record(
    {
      kind: fc.constant("remove" as const),
      at: fc.constant(at),
      method: fc.constantFrom("delete" as const, "evict" as const, "tombstone" as const),
      ...selection,
    },
    { requiredKeys: ["kind", "at", "method", "term", "orderBy"] },
  ),
];

const anyDefinition: fc.Arbitrary<Statement>[] = [
  fc.record({
    kind: fc.constant("create_index" as const),
    at: fc.constant(at),
    name: anyName,
    collection: anyCollectionName,
    keys: fc.array(fc.record({ path: anyPath, isDescending: fc.boolean() }), {
      minLength: 1,
      maxLength: 3,
    }),
    ifNotExists: fc.boolean(),
  }),
  fc.record({
    kind: fc.constant("drop_index" as const),
    at: fc.constant(at),
    name: anyName,
    collection: anyCollectionName,
    ifExists: fc.boolean(),
  }),
];

const anySetting: fc.Arbitrary<Statement>[] = [
  fc.record({ kind: fc.constant("show" as const), at: fc.constant(at), name: anyName }),
  fc.record(
    {
      kind: fc.constant("show" as const),
      at: fc.constant(at),
      pattern: fc.record(
        {
          operator: fc.constantFrom("like" as const, "ilike" as const),
          pattern: anyText,
          escape: anyText,
        },
        { requiredKeys: ["operator", "pattern"] },
      ),
    },
    { requiredKeys: ["kind", "at"] },
  ),
  fc
    .record(
      {
        kind: fc.constant("alter_system" as const),
        at: fc.constant(at),
        name: anyName,
        value: anyExpression,
      },
      { requiredKeys: ["kind", "at", "name"] },
    )
    .filter(({ value }) => value?.kind !== "literal" || value.value !== null),
  fc.constant({ kind: "alter_system", at }),
];

const anyPlanned = fc.oneof(anySelect, unionOf(anySelect), ...anyMutation, ...anyDefinition);

const anyOfAll: fc.Arbitrary<Statement> = fc.oneof(
  { weight: 4, arbitrary: anySelect },
  { weight: 2, arbitrary: unionOf(anySelect) },
  ...anyMutation.map((arbitrary) => ({ weight: 3, arbitrary })),
  ...anyDefinition,
  ...anySetting,
  calls(anyExpression).map(
    (call): Statement => ({
      kind: "execute_function",
      at,
      call: call as Extract<Expression, { kind: "call" }>,
    }),
  ),
  anyPlanned.map((statement): Statement => ({ kind: "explain", at, statement })),
  fc.record({
    kind: fc.constant("explain_sync" as const),
    at: fc.constant(at),
    collection: anyCollectionName,
    id: anyExpression,
    peerKey: anyExpression,
  }),
  anyPlanned.map((statement): Statement => ({ kind: "profile", at, statement })),
  fc.record({
    kind: fc.constant("advise" as const),
    at: fc.constant(at),
    isProvision: fc.boolean(),
    statement: anyPlanned,
  }),
  fc.record(
    {
      kind: fc.constant("sync_context" as const),
      at: fc.constant(at),
      where: anyExpression,
      statement: anyPlanned,
    },
    { requiredKeys: ["kind", "at", "statement"] },
  ),
);

export const anyStatement: fc.Arbitrary<Statement> = anyOfAll.filter(hasFewQueries);
