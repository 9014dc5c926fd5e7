/**
 * Operation texts: summaries, descriptions, schema names, extra statuses and examples of each
 * operation of the data API, for the OpenAPI document.
 */

import type { Value } from "@bigpeer/protocol";
import { failedResponse } from "../data-api/execute.ts";

export interface OperationText {
  readonly tag: string;
  readonly summary: string;
  readonly description: string;
  /** Titles of schemas. */
  readonly request: string;
  readonly response: string;
  readonly failure: string;
  readonly failureExample: Value;
  /** Statuses that only this operation may return, with their meaning. */
  readonly statuses: { readonly [status: string]: string };
  /** Whether it accepts an Idempotency-Key. */
  readonly isIdempotent: boolean;
  readonly examples: readonly OperationExample[];
}

export interface OperationExample {
  readonly name: string;
  readonly summary: string;
  readonly request: Value;
  readonly response: Value;
}

const CONFLICT = "The Idempotency-Key was used before with another request.";

const RPC_FAILURE = {
  failure: "RpcError",
  failureExample: { message: "expected text, found the number 1 at collection (value.invalid)" },
};

const COUNT: OperationText = {
  ...RPC_FAILURE,
  tag: "store",
  summary: "Count documents",
  description: "How many documents of a collection a filter chooses.",
  request: "CountRequest",
  response: "CountResponse",
  statuses: {},
  isIdempotent: false,
  examples: [
    {
      name: "parameter",
      summary: "A filter with a parameter",
      request: { collection: "cars", query: "color == :color", args: { color: "blue" } },
      response: { count: 2, txnId: 17 },
    },
    {
      name: "all",
      summary: "All documents",
      request: { collection: "cars", query: "true" },
      response: { count: 5, txnId: 17 },
    },
  ],
};

const EXECUTE: OperationText = {
  tag: "store",
  summary: "Run a statement",
  description:
    "Runs one statement of the statement language. Whatever happens, the answer is a " +
    "QueryResponse in JSON; a failure differs in its status and in `error.description`.",
  request: "QueryRequest",
  response: "QueryResponse",
  failure: "QueryResponse",
  failureExample: failedResponse(
    'expected FROM, found "FORM" at line 1, column 10, near `FORM cars` (query.syntax)',
  ),
  statuses: {
    404: "The server has not reached the transaction in X-SERVICE-TXN-ID.",
    422: CONFLICT,
  },
  isIdempotent: true,
  examples: [
    {
      name: "select",
      summary: "Read",
      request: {
        statement: "SELECT * FROM cars WHERE color = :color ORDER BY _id LIMIT 10",
        args: { color: "blue" },
      },
      response: {
        queryType: "select",
        items: [{ _id: "car-1", color: "blue", mileage: 120 }],
        mutatedDocumentIds: [],
        warnings: [],
        totalWarningsCount: 0,
        transactionId: 17,
        error: {},
      },
    },
    {
      name: "insert",
      summary: "Write",
      request: {
        statement: "INSERT INTO cars DOCUMENTS (:car) ON ID CONFLICT DO UPDATE",
        args: { car: { _id: "car-1", color: "blue", mileage: 120 } },
      },
      response: {
        queryType: "mutation",
        items: [],
        mutatedDocumentIds: ["car-1"],
        warnings: [],
        totalWarningsCount: 0,
        transactionId: 18,
        error: {},
      },
    },
  ],
};

const FIND: OperationText = {
  ...RPC_FAILURE,
  tag: "store",
  summary: "Find documents",
  description: "The documents that a filter chooses. Without `sort` in the order of their ids.",
  request: "FindRequest",
  response: "FindResponse",
  statuses: {},
  isIdempotent: false,
  examples: [
    {
      name: "sorted",
      summary: "The two blue cars with the most miles",
      request: {
        collection: "cars",
        query: "color == :color",
        args: { color: "blue" },
        sort: [{ property: "mileage", direction: "desc" }],
        limit: 2,
      },
      response: {
        documents: [
          { id: "car-4", fields: { color: "blue", mileage: 860 } },
          { id: "car-1", fields: { color: "blue", mileage: 120 } },
        ],
        txnId: 18,
      },
    },
    {
      name: "none",
      summary: "Nothing matches",
      request: { collection: "cars", query: "mileage < 0" },
      response: { documents: [], txnId: 18 },
    },
  ],
};

const FIND_BY_ID: OperationText = {
  ...RPC_FAILURE,
  tag: "store",
  summary: "Find one document by its id",
  description: "One document. Where there is none, `fields` is null.",
  request: "FindByIdRequest",
  response: "FindByIdResponse",
  statuses: {},
  isIdempotent: false,
  examples: [
    {
      name: "found",
      summary: "A document",
      request: { collection: "cars", id: "car-1" },
      response: {
        id: "car-1",
        fields: { color: "blue", mileage: 120 },
        txnId: 18,
      },
    },
    {
      name: "absent",
      summary: "No such document",
      request: { collection: "cars", id: { lot: 3, place: 12 } },
      response: { id: { lot: 3, place: 12 }, fields: null, txnId: 18 },
    },
  ],
};

const WRITE: OperationText = {
  ...RPC_FAILURE,
  tag: "store",
  summary: "Write a batch",
  description:
    "Applies commands in one transaction, all of them or none. There is one result for each " +
    "command, in the same order.",
  request: "WriteRequest",
  response: "WriteResponse",
  statuses: {
    403: "The credential lacks the permission for one or more of the commands.",
    422: CONFLICT,
  },
  isIdempotent: true,
  examples: [
    {
      name: "upsert",
      summary: "Insert or merge a document",
      request: {
        commands: [
          {
            method: "upsert",
            collection: "cars",
            id: "car-1",
            value: { color: "blue", mileage: 120 },
            valueTypeOverrides: { mileage: "counter" },
          },
        ],
      },
      response: { results: [{ method: "upsert", transactionId: 19 }] },
    },
    {
      name: "batch",
      summary: "Update some documents, remove others",
      request: {
        commands: [
          {
            method: "update",
            collection: "cars",
            query: "color == :color",
            args: { color: "blue" },
            commands: [{ method: "increment", path: "mileage", value: 5 }],
          },
          { method: "remove", collection: "cars", query: "isSold == true" },
        ],
      },
      response: {
        results: [
          {
            method: "update",
            transactionId: 20,
            updated: 2,
            error: 0,
            internalError: 0,
            permissionDenied: 0,
          },
          {
            method: "remove",
            transactionId: 20,
            deleted: 1,
            internalError: 0,
            permissionDenied: 0,
          },
        ],
      },
    },
  ],
};

const REMOTE_EXECUTE: OperationText = {
  ...RPC_FAILURE,
  tag: "sync",
  summary: "Run a statement on connected peers",
  description:
    "`SYNC CONTEXT ( PEERS [WHERE …] )` chooses peers by what `system:peers` knows of them; each runs " +
    "the statement on its own store, if its app allows it. One element of `result` for each peer " +
    "that was chosen, with its `error` where it failed. Top-level `error`: nothing could be run.",
  request: "RemoteExecuteRequest",
  response: "RemoteExecuteResponse",
  statuses: {},
  isIdempotent: false,
  examples: [
    {
      name: "peers",
      summary: "No peer is connected",
      request: { statement: "SYNC CONTEXT ( PEERS ) SELECT * FROM cars" },
      response: { result: [] },
    },
    {
      name: "chosen",
      summary: "Two peers are chosen, one of them refuses",
      request: {
        statement:
          "SYNC CONTEXT ( PEERS WHERE peerMetadata.store = :store ) SELECT COUNT(*) AS n FROM orders",
        args: { store: "Berlin" },
      },
      response: {
        result: [
          {
            peer: {
              peerKeyString: "pk-kitchen",
              deviceName: "kitchen",
              peerMetadata: { store: "Berlin" },
              identityServiceMetadata: {},
            },
            items: [{ n: 7 }],
            elapsedMilliseconds: 3,
            warnings: [],
            totalWarningsCount: 0,
          },
          {
            peer: {
              peerKeyString: "pk-till",
              deviceName: "till 2",
              peerMetadata: { store: "Berlin" },
              identityServiceMetadata: {},
            },
            items: [],
            elapsedMilliseconds: 1,
            warnings: [],
            totalWarningsCount: 0,
            error: {
              description: "the app of this peer runs no statements of others (remote.refused)",
            },
          },
        ],
      },
    },
  ],
};

/** By the name of the operation. */
export const OPERATION_TEXTS: { readonly [name: string]: OperationText } = {
  count: COUNT,
  execute: EXECUTE,
  find: FIND,
  findbyid: FIND_BY_ID,
  write: WRITE,
  remote_execute: REMOTE_EXECUTE,
};
