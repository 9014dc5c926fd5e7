/**
 * Device paths: the operations about connected peers in the OpenAPI document.
 */

import type { Value, ValueObject } from "@bigpeer/protocol";
import { EXPLAIN_PATH, PEERS_PATH } from "../data-api/device-endpoints.ts";
import { PEERS_PAGE_MAX } from "../limits/limits.ts";
import { schemaReference } from "./component-schemas.ts";
import { failureResponses, responseOf, valueContent } from "./responses.ts";

const TYPES = ["application/json", "application/cbor"];

interface DeviceText {
  readonly operationId: string;
  readonly summary: string;
  readonly description: string;
  readonly parameters?: readonly Value[];
  /** Title of a schema. */
  readonly response: string;
  readonly example: Value;
}

const SINCE = 1_764_583_200_000;

const PEERS: DeviceText = {
  operationId: "sync_peers",
  summary: "List connected peers",
  description:
    "The peers that are connected to the app now, in the order in which they came. A page may end " +
    "before `limit`; while there are more, `next` is what the next request has as `after`. Needs the " +
    "permission to read everything.",
  parameters: [
    numberParameter("limit", "How many at most.", PEERS_PAGE_MAX),
    numberParameter("after", "The `next` of the page before."),
  ],
  response: "SyncPeersResponse",
  example: {
    peers: [
      {
        peerKeyString: "pk-kitchen",
        deviceName: "kitchen",
        os: "linux",
        sdkVersion: "bigpeer-node/0.1.0",
        peerMetadata: { store: "Berlin" },
        identityServiceMetadata: {},
        address: "192.0.2.7",
        connectedSince: SINCE,
        site: "0123456789abcdef",
        subscriptions: [
          { query: "SELECT * FROM orders", args: {}, collection: "orders", state: "live" },
        ],
        sync: { sentUpTo: 17, appliedUpTo: 17, lag: 0, pending: 0, uploads: 0 },
        transport: {
          framesIn: 4,
          framesOut: 6,
          bytesIn: 612,
          bytesOut: 2048,
          queuedBytes: 0,
          roundTripMs: 12,
          heardMsAgo: 950,
        },
      },
    ],
  },
};

const EXPLAIN: DeviceText = {
  operationId: "sync_explain",
  summary: "Explain why a document is on a peer, or is not",
  description:
    "One element for each connection of the peer; one when it has none. The same as the statement " +
    "`EXPLAIN SYNC collection, id FOR peerKey`. Needs the permission to read everything.",
  parameters: [
    queryParameter("collection", "The collection of the document."),
    queryParameter("id", "The id of the document: as JSON, or as it is when it is no JSON."),
    queryParameter("peer", "The key of the peer."),
  ],
  response: "SyncExplainResponse",
  example: {
    items: [
      {
        peer: {
          peerKeyString: "pk-kitchen",
          deviceName: "kitchen",
          os: "linux",
          sdkVersion: "bigpeer-node/0.1.0",
          session: 3,
          connectedSince: SINCE,
        },
        verdict: "not_subscribed",
        reason: "the peer has no subscription to the collection cars",
        document: {
          collection: "cars",
          id: "car-1",
          exists: true,
          isDeleted: false,
          changedAt: 17,
        },
        subscriptions: [],
        txnIds: { documentTxn: 17, serverTxn: 18 },
        uploads: [],
      },
    ],
  },
};

function queryParameter(name: string, description: string): Value {
  return { name, in: "query", required: true, description, schema: { type: "string" } };
}

function numberParameter(name: string, description: string, maximum?: number): Value {
  const schema = {
    type: "integer",
    minimum: 1,
    ...(maximum !== undefined && { maximum, default: maximum }),
  };
  return { name, in: "query", required: false, description, schema };
}

function itemOf({ operationId, summary, description, ...text }: DeviceText): ValueObject {
  const { parameters, response, example } = text;
  return {
    operationId,
    tags: ["sync"],
    summary,
    description,
    ...(parameters !== undefined && { parameters }),
    responses: {
      200: responseOf(
        "What was asked for.",
        valueContent({
          types: TYPES,
          schema: schemaReference(response),
          examples: { example: { summary: "An example", value: example } },
        }),
      ),
      ...failureResponses({
        statuses: [400, 401, 408, 429, 500, 503],
        content: valueContent({ types: TYPES, schema: schemaReference("RpcError") }),
        example: { message: "expected the parameter peer in the address, found none" },
      }),
    },
  };
}

export const DEVICE_PATHS: ValueObject = {
  [PEERS_PATH]: { get: itemOf(PEERS) },
  [EXPLAIN_PATH]: { get: itemOf(EXPLAIN) },
};
