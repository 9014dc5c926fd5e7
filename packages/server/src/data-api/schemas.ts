/**
 * Data API schemas: requests with their checks, and answers for the OpenAPI document. Optional
 * fields may also be null, as clients in typed languages send them (H6).
 *
 * A schema with a title becomes a component of the OpenAPI document.
 */

import type { Value } from "@bigpeer/protocol";
import { COMMAND_FIELDS_MAX, SORT_KEYS_MAX } from "../limits/limits.ts";
import {
  AnyValue,
  type Check,
  compileCheck,
  type TSchema,
  type TUnsafe,
  Type,
} from "../validation/schema.ts";

const INT32_MAX = 2_147_483_647;

export type SerializedAs = "latestValues" | "latestValuesAndTypes";
export type TypeOverride = "counter" | "register" | "attachment";
export type UpdateMethod = "set" | "setAttachment" | "increment" | "replaceWithCounter";

export interface QueryRequest {
  readonly statement: string;
  readonly args?: Value;
}

export interface CountRequest {
  readonly collection: string;
  readonly query: string;
  readonly args?: Value;
}

export interface Sort {
  readonly property: string;
  readonly direction: "asc" | "desc";
}

/** Format in which documents are returned. */
export interface DocumentForm {
  readonly formatAttachment?: boolean | null;
  readonly serializedAs?: SerializedAs | null;
}

export interface FindRequest extends CountRequest, DocumentForm {
  readonly limit?: number | null;
  readonly offset?: number | null;
  readonly sort?: readonly Sort[] | null;
  readonly describe?: boolean | null;
}

export interface FindByIdRequest extends DocumentForm {
  readonly collection: string;
  readonly id: Value;
}

export interface BeginUploadRequest {
  readonly len: number;
  readonly proof?: string | null;
}

export interface UpdateStep {
  readonly method: UpdateMethod;
  readonly path: string;
  readonly value: Value;
}

export type WriteCommand =
  | {
      readonly method: "update";
      readonly collection: string;
      readonly query: string;
      readonly commands: readonly UpdateStep[];
      readonly args?: Value;
    }
  | {
      readonly method: "upsert";
      readonly collection: string;
      readonly value: Value;
      readonly id?: Value;
      readonly valueTypeOverrides?: { readonly [field: string]: TypeOverride } | null;
    }
  | {
      readonly method: "remove";
      readonly collection: string;
      readonly query: string;
      readonly args?: Value;
    };

export interface WriteRequest {
  readonly commands: readonly WriteCommand[];
}

const COLLECTION = Type.String({ description: "Name of the collection." });
const QUERY = Type.String({
  description: "A filter; `true` for all. `:name` and `$args.name` are taken from `args`.",
});
const ARGS = Type.Optional(
  Type.Unsafe<Value>({ description: "An object with a value for each parameter." }),
);

const QUERY_REQUEST = {
  statement: Type.String({ description: "One statement of the statement language." }),
  args: ARGS,
};
const QueryRequestSchema = Type.Object(QUERY_REQUEST, { title: "QueryRequest" });

/** The body of `execute` with more fields. */
export function queryRequestWith<T extends QueryRequest>(
  title: string,
  more: Record<string, TSchema>,
): TUnsafe<T> {
  return Type.Unsafe<T>(Type.Object({ ...QUERY_REQUEST, ...more }, { title }));
}

const CountRequestSchema = Type.Object(
  { collection: COLLECTION, query: QUERY, args: ARGS },
  { title: "CountRequest" },
);

const SortSchema = Type.Object(
  {
    property: Type.String({ description: "A path, like `address.city`." }),
    direction: Type.Enum(["asc", "desc"]),
  },
  { title: "Sort" },
);

const SerializedAsSchema = Type.Enum(["latestValues", "latestValuesAndTypes"], {
  title: "SerializedAs",
  default: "latestValues",
});

const FORM = {
  formatAttachment: optional(
    Type.Boolean({ default: false, description: "Adds a download `url` to attachments." }),
  ),
  serializedAs: optional(SerializedAsSchema),
};

const FindRequestSchema = Type.Object(
  {
    collection: COLLECTION,
    query: QUERY,
    args: ARGS,
    limit: optional(int32({ default: 1000, description: "Documents at most." })),
    offset: optional(int32({ default: 0, description: "Documents to skip." })),
    sort: optional(Type.Array(SortSchema, { maxItems: SORT_KEYS_MAX })),
    describe: optional(
      Type.Boolean({
        default: false,
        description: "Puts a document `query_details` with the plan before the others.",
      }),
    ),
    ...FORM,
  },
  { title: "FindRequest" },
);

const FindByIdRequestSchema = Type.Object(
  { collection: COLLECTION, id: AnyValue, ...FORM },
  { title: "FindByIdRequest" },
);

const UpdateCommandSchema = Type.Object(
  {
    method: Type.Enum(["set", "setAttachment", "increment", "replaceWithCounter"]),
    path: Type.String({ description: "Where in the document, like `a.b` or `a['b-c']`." }),
    value: AnyValue,
  },
  { title: "UpdateCommand" },
);

const TypeOverrideSchema = Type.Enum(["counter", "register", "attachment"], {
  title: "TypeOverride",
});

const WriteCommandSchema = Type.Union(
  [
    Type.Object(
      {
        method: Type.Literal("update"),
        collection: COLLECTION,
        query: QUERY,
        commands: Type.Array(UpdateCommandSchema, { maxItems: COMMAND_FIELDS_MAX }),
        args: ARGS,
      },
      { title: "UpdateWriteCommand" },
    ),
    Type.Object(
      {
        method: Type.Literal("upsert"),
        collection: COLLECTION,
        value: Type.Unsafe<Value>({ description: "The fields; merged into the document." }),
        id: Type.Optional(Type.Unsafe<Value>({ description: "Made when it is left out." })),
        valueTypeOverrides: optional(
          Type.Record(Type.String(), TypeOverrideSchema, { maxProperties: COMMAND_FIELDS_MAX }),
        ),
      },
      { title: "UpsertWriteCommand" },
    ),
    Type.Object(
      { method: Type.Literal("remove"), collection: COLLECTION, query: QUERY, args: ARGS },
      { title: "RemoveWriteCommand" },
    ),
  ],
  { title: "WriteCommand", discriminator: { propertyName: "method" } },
);

const WriteRequestSchema = Type.Object(
  { commands: Type.Array(WriteCommandSchema) },
  { title: "WriteRequest" },
);

const BeginUploadRequestSchema = Type.Object(
  {
    len: Type.Integer({
      minimum: 0,
      maximum: Number.MAX_SAFE_INTEGER,
      format: "int64",
      description: "Bytes of the content.",
    }),
    proof: optional(
      Type.String({
        description:
          "Shows that the caller has the content: SHA-256, in base64url, of the content followed " +
          "by the text `bigpeer possession`.",
      }),
    ),
  },
  { title: "BeginUploadRequest" },
);

const RemoteExecuteRequestSchema = Type.Object(
  {
    statement: Type.String({
      description: "`SYNC CONTEXT ( PEERS [WHERE …] )`, then the statement for those peers.",
    }),
    args: ARGS,
  },
  { title: "RemoteExecuteRequest" },
);

export const checkQueryRequest: Check<QueryRequest> = compileCheck(QueryRequestSchema);
export const checkCountRequest: Check<CountRequest> = compileCheck(CountRequestSchema);
export const checkFindRequest: Check<FindRequest> = compileCheck(FindRequestSchema);
export const checkFindByIdRequest: Check<FindByIdRequest> = compileCheck(FindByIdRequestSchema);
export const checkWriteRequest: Check<WriteRequest> = compileCheck(WriteRequestSchema);
export const checkBeginUpload: Check<BeginUploadRequest> = compileCheck(BeginUploadRequestSchema);
export const checkRemoteExecuteRequest: Check<QueryRequest> = compileCheck(
  RemoteExecuteRequestSchema,
);

const INT64 = Type.Integer({ format: "int64" });

const DOCUMENT = {
  id: AnyValue,
  fields: Type.Unsafe<Value>({ description: "The content; null when there is no such document." }),
};
const DocumentSchema = Type.Object(DOCUMENT, { title: "Document" });

const WarningSchema = Type.Object(
  { description: Type.String(), _id: Type.Optional(AnyValue) },
  { title: "QueryResponseWarning" },
);

const QueryResponseSchema = Type.Object(
  {
    queryType: Type.Enum(["select", "mutation", "unknown"]),
    items: Type.Array(AnyValue),
    mutatedDocumentIds: Type.Array(AnyValue),
    warnings: Type.Array(WarningSchema),
    totalWarningsCount: INT64,
    transactionId: Type.Optional(INT64),
    error: Type.Optional(
      Type.Object({ description: Type.Optional(Type.String()) }, { title: "QueryResponseError" }),
    ),
  },
  { title: "QueryResponse" },
);

const RemoteExecuteErrorSchema = Type.Object(
  { description: Type.String() },
  { title: "RemoteExecuteError" },
);

const RemoteExecutePeerItemSchema = Type.Object(
  {
    peer: Type.Optional(AnyValue),
    items: Type.Optional(Type.Array(AnyValue)),
    elapsedMilliseconds: Type.Optional(AnyValue),
    error: Type.Optional(RemoteExecuteErrorSchema),
    warnings: Type.Optional(Type.Array(AnyValue)),
    totalWarningsCount: Type.Optional(AnyValue),
  },
  { title: "RemoteExecutePeerItem" },
);

const WriteCommandResultSchema = Type.Union(
  [
    Type.Object(
      {
        method: Type.Literal("update"),
        transactionId: INT64,
        updated: INT64,
        error: INT64,
        internalError: Type.Optional(INT64),
        permissionDenied: Type.Optional(INT64),
      },
      { title: "UpdateWriteCommandResult" },
    ),
    Type.Object(
      { method: Type.Literal("upsert"), transactionId: INT64 },
      { title: "UpsertWriteCommandResult" },
    ),
    Type.Object(
      {
        method: Type.Literal("remove"),
        transactionId: INT64,
        deleted: INT64,
        internalError: Type.Optional(INT64),
        permissionDenied: Type.Optional(INT64),
      },
      { title: "RemoveWriteCommandResult" },
    ),
  ],
  { title: "WriteCommandResult", discriminator: { propertyName: "method" } },
);

/** All named schemas, for the OpenAPI document. */
export const SCHEMAS: readonly TSchema[] = [
  QueryRequestSchema,
  CountRequestSchema,
  SortSchema,
  SerializedAsSchema,
  FindRequestSchema,
  FindByIdRequestSchema,
  UpdateCommandSchema,
  TypeOverrideSchema,
  WriteCommandSchema,
  ...WriteCommandSchema.anyOf,
  WriteRequestSchema,
  RemoteExecuteRequestSchema,
  DocumentSchema,
  WarningSchema,
  QueryResponseSchema,
  Type.Object({ count: INT64, txnId: INT64 }, { title: "CountResponse" }),
  Type.Object(
    { documents: Type.Array(DocumentSchema), txnId: Type.Optional(INT64) },
    { title: "FindResponse" },
  ),
  Type.Object({ ...DOCUMENT, txnId: Type.Optional(INT64) }, { title: "FindByIdResponse" }),
  WriteCommandResultSchema,
  ...WriteCommandResultSchema.anyOf,
  Type.Object({ results: Type.Array(WriteCommandResultSchema) }, { title: "WriteResponse" }),
  RemoteExecuteErrorSchema,
  RemoteExecutePeerItemSchema,
  Type.Object(
    {
      result: Type.Array(RemoteExecutePeerItemSchema),
      error: Type.Optional(RemoteExecuteErrorSchema),
    },
    { title: "RemoteExecuteResponse" },
  ),
  Type.Object({ message: Type.String() }, { title: "RpcError" }),
  Type.Object({ id: Type.String(), len: INT64 }, { title: "UploadedAttachment" }),
  BeginUploadRequestSchema,
  Type.Object({ id: Type.String(), len: INT64, offset: INT64 }, { title: "UploadProgress" }),
  Type.Object({ message: Type.String(), offset: INT64 }, { title: "WrongUploadOffset" }),
];

function optional<S extends TSchema>(schema: S) {
  return Type.Optional(Type.Union([schema, Type.Null()]));
}

function int32(options: { readonly default: number; readonly description: string }) {
  return Type.Integer({ minimum: 0, maximum: INT32_MAX, format: "int32", ...options });
}
