/**
 * Generated trees of queries, for where one stands inside of another: UNION, queries in FROM, IN and
 * EXISTS, UNNEST. The expressions in them are given, so that they end.
 */
import * as fc from "fast-check";
import type {
  Expression,
  Join,
  Query,
  SelectStatement,
  SourceTerm,
  UnionStatement,
  Unnest,
} from "../../../src/query/syntax/tree.ts";

const at = 0;
const located = fc.constant(at);

interface Parts {
  readonly expression: fc.Arbitrary<Expression>;
  readonly name: fc.Arbitrary<string>;
}

export function anyUnnest({ expression, name }: Parts): fc.Arbitrary<Unnest> {
  return fc.record(
    {
      at: located,
      type: fc.constant("unnest" as const),
      isOuter: fc.boolean(),
      of: expression,
      alias: name,
    },
    { requiredKeys: ["at", "type", "isOuter", "of"] },
  );
}

/** One arm has neither order nor window. */
export function unionOf(select: fc.Arbitrary<SelectStatement>): fc.Arbitrary<UnionStatement> {
  const arm = select.map((each): SelectStatement => {
    const { limit: _limit, offset: _offset, ...rest } = each;
    return { ...rest, orderBy: [] };
  });
  const other = fc.record({ isAll: fc.boolean(), select: arm });
  return fc
    .tuple(arm, fc.array(other, { minLength: 1, maxLength: 2 }), select)
    .map(([first, others, { orderBy, limit, offset }]) => ({
      kind: "union",
      at,
      first,
      others,
      orderBy,
      ...(limit && { limit }),
      ...(offset && { offset }),
    }));
}

/** Small queries, some of them with others in FROM. */
export function smallQuery(parts: Parts): fc.Arbitrary<Query> {
  const { expression, name } = parts;
  const collection: fc.Arbitrary<SourceTerm> = fc.record(
    { collection: fc.record({ at: located, name }), alias: name },
    { requiredKeys: ["collection"] },
  );
  return fc.letrec<{ query: Query; term: SourceTerm; select: SelectStatement }>((tie) => ({
    query: fc.oneof(
      { weight: 8, arbitrary: tie("select") },
      { weight: 1, arbitrary: unionOf(tie("select")) },
    ),
    term: fc.oneof(
      { maxDepth: 1 },
      { weight: 5, arbitrary: collection },
      { weight: 1, arbitrary: fc.record({ at: located, query: tie("query"), alias: name }) },
    ),
    select: fc.record(
      {
        kind: fc.constant("select" as const),
        at: located,
        isDistinct: fc.boolean(),
        isRaw: fc.constant(false),
        projections: fc.array(
          expression.map((each) => ({ kind: "column" as const, at, expression: each, alias: "c" })),
          { minLength: 1, maxLength: 2 },
        ),
        from: tie("term"),
        joins: fc.array(fc.oneof(anyJoin(tie("term"), expression), anyUnnest(parts)), {
          maxLength: 1,
        }),
        where: expression,
        orderBy: fc.constant([]),
        limit: fc.nat().map((value): Expression => ({ kind: "literal", at, value })),
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
    ),
  })).query;
}

function anyJoin(
  term: fc.Arbitrary<SourceTerm>,
  expression: fc.Arbitrary<Expression>,
): fc.Arbitrary<Join> {
  return fc.record({
    at: located,
    type: fc.constantFrom("inner" as const, "left" as const),
    term,
    on: expression,
  });
}

/** A statement may hold so many, and a few more than that are made now and then. */
const QUERIES_FEW = 60;

export function hasFewQueries(tree: unknown): boolean {
  return countQueries(tree) <= QUERIES_FEW;
}

function countQueries(tree: unknown): number {
  if (typeof tree !== "object" || tree === null) return 0;
  const own = (tree as { readonly kind?: unknown }).kind === "select" ? 1 : 0;
  return Object.values(tree).reduce<number>((sum, part) => sum + countQueries(part), own);
}
