/**
 * Syntax tree of a statement: plain data that the parser makes and all later stages read.
 *
 * Every node has its offset in the text (`at`), for errors. Names are as written; the binder
 * replaces `name` nodes by `slot` nodes, and no later stage sees a `name`. Synonyms are one node:
 * `<>` is `!=`, IS UNKNOWN is IS NULL, `IN (a, b)` is `IN [a, b]`.
 */

import type { Types } from "@bigpeer/protocol";
import type { CastType } from "../value/cast.ts";
import type { Float } from "../value/datum.ts";

export type Expression =
  | LiteralNode
  | MissingNode
  | ParameterNode
  | NameNode
  | SlotNode
  | FieldNode
  | ElementNode
  | ArrayNode
  | ObjectNode
  | UnaryNode
  | BinaryNode
  | IsNode
  | InNode
  | BetweenNode
  | LikeNode
  | CaseNode
  | CastNode
  | QuantifierNode
  | ComprehensionNode
  | CallNode
  | SubqueryNode;

interface Located {
  readonly at: number;
}

/** A constant. A number with a point or an exponent is a Float, or a plain number if not whole. */
export interface LiteralNode extends Located {
  readonly kind: "literal";
  readonly value: null | boolean | number | bigint | string | Float;
}

export interface MissingNode extends Located {
  readonly kind: "missing";
}

/** `:name`. */
export interface ParameterNode extends Located {
  readonly kind: "parameter";
  readonly name: string;
}

/** The first step of a path: an alias, a range variable, or a field of the one collection. */
export interface NameNode extends Located {
  readonly kind: "name";
  readonly name: string;
}

/** A bound name: a slot in the frame of a row. */
export interface SlotNode extends Located {
  readonly kind: "slot";
  readonly slot: number;
  /**
   * `document`: a document of a FROM term, or a row of a query there. `element`: one of UNNEST.
   * `variable`: one of a quantifier or comprehension. `value`: computed before, a group key or an
   * aggregate.
   */
  readonly holds: "document" | "element" | "variable" | "value";
  /** Name for EXPLAIN: the alias, the variable, or the text of the computed expression. */
  readonly name: string;
  /** A failure counts as MISSING: a column that failed is not in its row. */
  readonly isColumn?: true;
}

/** `of.name`. */
export interface FieldNode extends Located {
  readonly kind: "field";
  readonly of: Expression;
  readonly name: string;
}

/** `of[index]`. */
export interface ElementNode extends Located {
  readonly kind: "element";
  readonly of: Expression;
  readonly index: Expression;
}

export interface ArrayNode extends Located {
  readonly kind: "array";
  readonly elements: readonly Expression[];
}

export interface ObjectNode extends Located {
  readonly kind: "object";
  readonly entries: readonly ObjectEntry[];
}

export interface ObjectEntry {
  readonly key: Expression;
  readonly value: Expression;
}

export interface UnaryNode extends Located {
  readonly kind: "unary";
  readonly operator: "-" | "+" | "not";
  readonly operand: Expression;
}

export type ArithmeticOperator = "+" | "-" | "*" | "/" | "%";
export type ComparisonOperator = "=" | "!=" | "<" | "<=" | ">" | ">=";
export type BinaryOperator = ArithmeticOperator | ComparisonOperator | "||" | "and" | "or";

export interface BinaryNode extends Located {
  readonly kind: "binary";
  readonly operator: BinaryOperator;
  readonly left: Expression;
  readonly right: Expression;
}

export interface IsNode extends Located {
  readonly kind: "is";
  readonly what: "null" | "missing";
  readonly isNegated: boolean;
  readonly operand: Expression;
}

export interface InNode extends Located {
  readonly kind: "in";
  readonly isNegated: boolean;
  readonly operand: Expression;
  readonly list: Expression;
}

export interface BetweenNode extends Located {
  readonly kind: "between";
  readonly isNegated: boolean;
  readonly operand: Expression;
  readonly low: Expression;
  readonly high: Expression;
}

export interface LikeNode extends Located {
  readonly kind: "like";
  readonly operator: "like" | "ilike" | "similar";
  readonly isNegated: boolean;
  readonly operand: Expression;
  readonly pattern: Expression;
  readonly escape?: Expression;
}

export interface CaseNode extends Located {
  readonly kind: "case";
  readonly subject?: Expression;
  readonly whens: readonly WhenClause[];
  readonly otherwise?: Expression;
}

export interface WhenClause {
  readonly when: Expression;
  readonly result: Expression;
}

/** `CAST(x AS t)`; the form `cast(x, 't')` is a call. */
export interface CastNode extends Located {
  readonly kind: "cast";
  readonly operand: Expression;
  readonly type: CastType;
}

/** `[position :] value IN|WITHIN source`. */
export interface Binding {
  readonly position?: string;
  readonly value: string;
  /** WITHIN: also values at deeper levels. */
  readonly isDeep: boolean;
  readonly source: Expression;
  /** After binding: the slots of the value and of the position. */
  readonly slots?: readonly number[];
}

export interface QuantifierNode extends Located {
  readonly kind: "quantifier";
  readonly quantifier: "any" | "every" | "any_and_every";
  readonly binding: Binding;
  readonly condition: Expression;
}

/** `ARRAY value FOR …` without a key, `OBJECT key : value FOR …` with one. */
export interface ComprehensionNode extends Located {
  readonly kind: "comprehension";
  readonly key?: Expression;
  readonly value: Expression;
  readonly binding: Binding;
  readonly condition?: Expression;
}

/** Call of a function or an aggregate, also in a special form: see parse-call.ts. */
export interface CallNode extends Located {
  readonly kind: "call";
  /** In lower case. */
  readonly name: string;
  readonly args: readonly Expression[];
  readonly isDistinct?: boolean;
  /** `count(*)`. */
  readonly isStar?: boolean;
}

/** `EXISTS (query)`, or the query of `IN (query)`, whose rows are the list. */
export interface SubqueryNode extends Located {
  readonly kind: "subquery";
  readonly purpose: "exists" | "members";
  readonly query: Query;
  /** Plan of the query, after binding. */
  readonly bound?: BoundQuery;
}

/** The part of a query plan that all stages may read. */
export interface BoundQuery {
  /** Slots that it reads from the outer row; without any, the result is the same for all rows. */
  readonly imports: readonly QueryImport[];
}

export interface QueryImport {
  /** Slot in the frame of the outer row. */
  readonly outer: number;
  /** Slot in the frames of the subquery. */
  readonly inner: number;
  readonly holds: SlotNode["holds"];
}

export interface CollectionRef extends Located {
  /** Default: `default`. */
  readonly namespace?: string;
  readonly name: string;
  /** `COLLECTION name (field TYPE, …)`. */
  readonly types?: Types;
}

export type Use =
  | { readonly kind: "ids"; readonly ids: readonly Expression[] }
  | { readonly kind: "id_list"; readonly list: Expression }
  /** Without a name, no index is used. */
  | { readonly kind: "index"; readonly names: readonly string[] }
  | { readonly kind: "directives"; readonly json: string };

export interface FromTerm {
  readonly collection: CollectionRef;
  readonly alias?: string;
  /** Set for a filter, which has no name for its collection. */
  readonly isUnnamed?: boolean;
  readonly use?: Use;
}

/** `(query) [AS] alias`: its rows take the place of documents. */
export interface QueryTerm extends Located {
  readonly query: Query;
  readonly alias: string;
}

export type SourceTerm = FromTerm | QueryTerm;

export interface Join extends Located {
  readonly type: "inner" | "left" | "right";
  readonly term: SourceTerm;
  readonly on: Expression;
}

/** `[LEFT] UNNEST path [AS] alias`: a row for each element. */
export interface Unnest extends Located {
  readonly type: "unnest";
  /** LEFT: also a row where there is no element. */
  readonly isOuter: boolean;
  readonly of: Expression;
  /** Default: the last step of the path. */
  readonly alias?: string;
}

export type Projection =
  | { readonly kind: "all"; readonly at: number }
  /** `of.*`. */
  | { readonly kind: "all_of"; readonly of: Expression; readonly at: number }
  | ColumnProjection;

export interface ColumnProjection extends Located {
  readonly kind: "column";
  readonly expression: Expression;
  readonly alias?: string;
  /** Written in parentheses: then a path gives the column no name. */
  readonly isWrapped?: boolean;
}

export interface OrderTerm {
  readonly expression: Expression;
  readonly isDescending: boolean;
  /** Position of null and MISSING; by default they are the greatest values. */
  readonly nulls?: "first" | "last";
}

export interface SelectStatement extends Located {
  readonly kind: "select";
  readonly isDistinct: boolean;
  /** RAW, VALUE, ELEMENT: the rows are the values themselves. */
  readonly isRaw: boolean;
  readonly projections: readonly Projection[];
  readonly from: SourceTerm;
  readonly joins: readonly (Join | Unnest)[];
  readonly where?: Expression;
  readonly groupBy?: readonly Expression[];
  readonly having?: Expression;
  readonly orderBy: readonly OrderTerm[];
  readonly limit?: Expression;
  readonly offset?: Expression;
}

/** `SELECT … UNION [ALL] SELECT …`: ORDER BY and LIMIT apply to the whole, no arm has its own. */
export interface UnionStatement extends Located {
  readonly kind: "union";
  readonly first: SelectStatement;
  /** At least one. */
  readonly others: readonly UnionArm[];
  readonly orderBy: readonly OrderTerm[];
  readonly limit?: Expression;
  readonly offset?: Expression;
}

export interface UnionArm {
  readonly select: SelectStatement;
  /** UNION ALL: keeps duplicates. Without it, duplicates among all rows so far are removed. */
  readonly isAll: boolean;
}

export type Query = SelectStatement | UnionStatement;

export type ConflictPolicy = "fail" | "nothing" | "update" | "merge" | "update_local_diff";

/** Expressions that each give a document or an array of documents. */
export interface InsertDocuments {
  readonly kind: "documents";
  readonly documents: readonly Expression[];
}

export interface InsertStatement extends Located {
  readonly kind: "insert";
  readonly into: CollectionRef;
  readonly isInitial: boolean;
  readonly source: InsertDocuments | Query;
  readonly conflict: ConflictPolicy;
  readonly returning?: readonly Projection[];
}

/** Path of a field to write. */
export interface Target extends Located {
  readonly path: readonly string[];
}

export interface ApplyItem extends Target {
  readonly method: "increment" | "pn_increment" | "restart";
  /** Absent for RESTART without WITH. */
  readonly value?: Expression;
}

export interface SetItem extends Target {
  readonly value: Expression;
}

/** The clauses that select the documents of a mutation. */
export interface Selection {
  readonly term: FromTerm;
  readonly where?: Expression;
  readonly orderBy: readonly OrderTerm[];
  readonly limit?: Expression;
  readonly offset?: Expression;
  readonly returning?: readonly Projection[];
}

export interface UpdateStatement extends Selection, Located {
  readonly kind: "update";
  readonly apply: readonly ApplyItem[];
  readonly set: readonly SetItem[];
  readonly unset: readonly Target[];
}

export interface RemoveStatement extends Selection, Located {
  readonly kind: "remove";
  readonly method: "delete" | "evict" | "tombstone";
}

export interface IndexKeyNode {
  readonly path: readonly string[];
  readonly isDescending: boolean;
}

export interface CreateIndexStatement extends Located {
  readonly kind: "create_index";
  readonly name: string;
  readonly collection: CollectionRef;
  readonly keys: readonly IndexKeyNode[];
  readonly ifNotExists: boolean;
}

export interface DropIndexStatement extends Located {
  readonly kind: "drop_index";
  readonly name: string;
  readonly collection: CollectionRef;
  readonly ifExists: boolean;
}

export interface ExplainStatement extends Located {
  readonly kind: "explain";
  readonly statement: Statement;
}

/** `EXPLAIN SYNC collection, id FOR peerKey`. */
export interface ExplainSyncStatement extends Located {
  readonly kind: "explain_sync";
  readonly collection: CollectionRef;
  readonly id: Expression;
  readonly peerKey: Expression;
}

export interface ProfileStatement extends Located {
  readonly kind: "profile";
  readonly statement: Statement;
}

export interface AdviseStatement extends Located {
  readonly kind: "advise";
  readonly isProvision: boolean;
  readonly statement: Statement;
}

/** `EXECUTE FUNCTION f(…)`. */
export interface ExecuteFunctionStatement extends Located {
  readonly kind: "execute_function";
  readonly call: CallNode;
}

export interface ShowStatement extends Located {
  readonly kind: "show";
  /** Undefined for ALL. */
  readonly name?: string;
  readonly pattern?: ShowPattern;
}

export interface ShowPattern {
  readonly operator: "like" | "ilike";
  readonly pattern: string;
  readonly escape?: string;
}

export interface AlterSystemStatement extends Located {
  readonly kind: "alter_system";
  /** Undefined for RESET ALL. */
  readonly name?: string;
  /** Undefined for RESET and for SET … DEFAULT. */
  readonly value?: Expression;
}

/** `SYNC CONTEXT ( PEERS [WHERE …] ) statement`. */
export interface SyncContextStatement extends Located {
  readonly kind: "sync_context";
  readonly where?: Expression;
  readonly statement: Statement;
}

export type Statement =
  | SelectStatement
  | UnionStatement
  | InsertStatement
  | UpdateStatement
  | RemoveStatement
  | CreateIndexStatement
  | DropIndexStatement
  | ExplainStatement
  | ExplainSyncStatement
  | ProfileStatement
  | AdviseStatement
  | ExecuteFunctionStatement
  | ShowStatement
  | AlterSystemStatement
  | SyncContextStatement;

/** A parsed statement: the tree, and the text of its directive comments. */
export interface ParsedStatement {
  readonly statement: Statement;
  readonly directives: readonly string[];
}
