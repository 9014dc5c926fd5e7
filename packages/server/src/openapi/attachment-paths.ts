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
  "/attachments/{id}": { get: readItem("get"), head: readItem("head") },
};
