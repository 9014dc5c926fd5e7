/**
 * Attachment paths: the attachment operations in the OpenAPI document.
 */

import type { Value, ValueObject } from "@bigpeer/protocol";
import { schemaReference } from "./component-schemas.ts";
import { failureResponses, responseOf, valueContent } from "./responses.ts";

const TYPES = ["application/json", "application/cbor"];

/** Arbitrary bytes. */
const BINARY: ValueObject = {
  type: "string",
  format: "binary",
  contentMediaType: "application/octet-stream",
};

const RPC_ERROR = valueContent({ types: TYPES, schema: schemaReference("RpcError") });

const DOWNLOAD: ValueObject = { "application/octet-stream": { schema: BINARY } };

const ETAG: ValueObject = { ETag: { $ref: "#/components/headers/ETag" } };
const WHOLE_HEADERS: ValueObject = {
  ...ETAG,
  "Accept-Ranges": { $ref: "#/components/headers/AcceptRanges" },
};
const PART_HEADERS: ValueObject = {
  ...WHOLE_HEADERS,
  "Content-Range": { $ref: "#/components/headers/ContentRange" },
};

const READ_PARAMETERS: Value[] = [
  {
    name: "id",
    in: "path",
    required: true,
    description: "From the upload, or from a document.",
    schema: { type: "string" },
  },
  {
    name: "If-None-Match",
    in: "header",
    description: "The ETag of content that the client has.",
    schema: { type: "string" },
  },
  {
    name: "Range",
    in: "header",
    description: "A part of the content, like `bytes=0-1023`.",
    schema: { type: "string" },
  },
  {
    name: "If-Range",
    in: "header",
    description: "The ETag for which the part is wanted; of other content the whole is sent.",
    schema: { type: "string" },
  },
];

const UPLOAD: ValueObject = {
  operationId: "upload_attachment",
  tags: ["attachments"],
  summary: "Upload an attachment",
  description:
    "Stores the content of a file. The id is that of the content: the same bytes have the same. " +
    "A document refers to it by `id` and `len`.",
  requestBody: {
    required: true,
    content: {
      "multipart/form-data": {
        schema: {
          type: "object",
          required: ["file"],
          properties: { file: BINARY },
        },
      },
    },
  },
  responses: {
    200: responseOf(
      "The content is stored.",
      valueContent({
        types: TYPES,
        schema: schemaReference("UploadedAttachment"),
        examples: {
          uploaded: {
            summary: "A file of 11 bytes",
            value: { id: "uU0nuZNNPgilLlLX2n2r-sSE7-N6U4DukIj3rOLvzek", len: 11 },
          },
        },
      }),
    ),
    ...failureResponses({
      statuses: [400, 401, 408, 413, 415, 429, 500, 503],
      content: RPC_ERROR,
    }),
  },
};

const UPLOAD_ID: Value = {
  name: "id",
  in: "path",
  required: true,
  description: "SHA-256 of the content, in base64url.",
  schema: { type: "string", minLength: 43, maxLength: 43 },
};

const PROGRESS: ValueObject = responseOf(
  "How much of the content is here. If `offset` is `len`, the content is stored.",
  valueContent({
    types: TYPES,
    schema: schemaReference("UploadProgress"),
    examples: {
      begun: {
        summary: "The client sends from byte 4 on",
        value: { id: "uU0nuZNNPgilLlLX2n2r-sSE7-N6U4DukIj3rOLvzek", len: 11, offset: 4 },
      },
    },
  }),
);

const BEGIN: ValueObject = {
  operationId: "begin_upload",
  tags: ["attachments"],
  summary: "Begin or continue an upload",
  description:
    "Answers from which byte on the client must send. Nothing has to be sent if the server has " +
    "the content, and the caller may read it or proves to have it. Ends an earlier request of " +
    "the same upload that is still under way.",
  parameters: [UPLOAD_ID],
  requestBody: {
    required: true,
    content: valueContent({ types: TYPES, schema: schemaReference("BeginUploadRequest") }),
  },
  responses: {
    200: PROGRESS,
    ...failureResponses({
      statuses: [400, 401, 408, 413, 415, 429, 500, 503],
      others: { 422: "The content does not have this id. Nothing of it is kept." },
      content: RPC_ERROR,
    }),
  },
};

const APPEND: ValueObject = {
  operationId: "continue_upload",
  tags: ["attachments"],
  summary: "Send the next bytes of an upload",
  description:
    "Appends the body as it arrives. What arrived before a connection was cut stays. When all " +
    "bytes are here, the server checks that the content has the id.",
  parameters: [
    UPLOAD_ID,
    {
      name: "Upload-Offset",
      in: "header",
      required: true,
      description: "The byte of the content at which the body begins.",
      schema: { type: "integer", format: "int64", minimum: 0 },
    },
    {
      name: "Upload-Length",
      in: "header",
      required: true,
      description: "Bytes of the whole content.",
      schema: { type: "integer", format: "int64", minimum: 0 },
    },
  ],
  requestBody: { required: true, content: DOWNLOAD },
  responses: {
    200: PROGRESS,
    409: responseOf(
      "The upload continues at another offset.",
      valueContent({ types: TYPES, schema: schemaReference("WrongUploadOffset") }),
    ),
    ...failureResponses({
      statuses: [400, 401, 408, 413, 415, 429, 500, 503],
      others: { 422: "The content does not have this id. Nothing of it is kept." },
      content: RPC_ERROR,
    }),
  },
};

function readItem(method: "get" | "head"): ValueObject {
  const isGet = method === "get";
  const content = isGet ? DOWNLOAD : undefined;
  const failed = isGet ? RPC_ERROR : undefined;
  return {
    operationId: `${isGet ? "download" : "head"}_attachment`,
    tags: ["attachments"],
    summary: isGet ? "Download an attachment" : "Ask whether an attachment is there",
    description: isGet
      ? "The content, or a part of it that the header Range names."
      : "As a download of the whole, without the content.",
    parameters: READ_PARAMETERS,
    responses: {
      200: responseOf("The whole content.", content, WHOLE_HEADERS),
      ...(isGet && { 206: responseOf("The part that was asked for.", content, PART_HEADERS) }),
      304: responseOf("The client has the content.", undefined, ETAG),
      ...failureResponses({
        statuses: [401, 404, ...(isGet ? [416] : []), 429, 500, 503],
        content: failed,
      }),
    },
  };
}

export const ATTACHMENT_PATHS: ValueObject = {
  "/attachments/upload": { post: UPLOAD },
  "/attachments/{id}/upload": { post: BEGIN, patch: APPEND },
  "/attachments/{id}": { get: readItem("get"), head: readItem("head") },
};
