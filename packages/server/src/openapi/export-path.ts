/**
 * Export path: the export of a collection in the OpenAPI document.
 */

import type { ValueObject } from "@bigpeer/protocol";
import { EXPORT_PATH } from "../data-api/export.ts";
import { schemaReference } from "./component-schemas.ts";
import { failureResponses, responseOf, valueContent } from "./responses.ts";

const LINES = '{"_id":"c1","color":"blue"}\n{"_id":"c2","color":"red"}\n';

const EXPORT: ValueObject = {
  operationId: "export",
  tags: ["store"],
  summary: "Export a collection",
  description:
    "All documents of a collection that the caller may read, as of one transaction, in the order " +
    "of their ids: a line of JSON for each. The header `X-Service-Txn-Id` names the transaction. " +
    "The answer begins when all of it is written to the disk of the server.",
  parameters: [
    {
      name: "collection",
      in: "query",
      required: true,
      description: "Name of the collection.",
      schema: { type: "string" },
    },
    {
      name: "types",
      in: "query",
      description:
        "With `true`, each line is `{id, fields}`, and each value is wrapped with its type, as " +
        "`latestValuesAndTypes` does. A value that JSON cannot hold is CBOR in base64: " +
        '`{"register": {"cbor": "…"}}`, and in place of `id` stands `idCbor`.',
      schema: { type: "string", enum: ["true", "false"], default: "false" },
    },
  ],
  responses: {
    200: responseOf("The documents.", {
      "application/x-ndjson": {
        schema: { type: "string", format: "binary" },
        examples: { lines: { summary: "Two documents", value: LINES } },
      },
    }),
    ...failureResponses({
      statuses: [400, 401, 408, 429, 500, 503],
      content: valueContent({
        types: ["application/json", "application/cbor"],
        schema: schemaReference("RpcError"),
      }),
      example: { message: "expected the parameter collection in the address, found none" },
    }),
  },
};

export const EXPORT_PATHS: ValueObject = { [EXPORT_PATH]: { get: EXPORT } };
