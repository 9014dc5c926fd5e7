/**
 * Device schemas: the answers about connected peers for the OpenAPI document. A schema with a title
 * becomes a component there.
 */

import { SYNC_VERDICTS } from "@bigpeer/engine/sync";
import { AnyValue, type TSchema, Type } from "../validation/schema.ts";

const COUNT = Type.Integer({ minimum: 0 });
const TXN_ID = Type.Integer({ format: "int64", minimum: 0 });
const TIME = Type.Integer({ format: "int64", description: "Milliseconds since 1970." });
const MS = Type.Number({ minimum: 0, description: "Milliseconds." });
const OBJECT = Type.Unsafe<object>({ type: "object", additionalProperties: true });

const SyncSubscription = Type.Object(
  {
    query: Type.String(),
    args: OBJECT,
    collection: Type.Optional(Type.String()),
    state: Type.Enum(["waiting", "filling", "live", "behind"]),
  },
  { title: "SyncSubscription" },
);

const SyncProgress = Type.Object(
  {
    sentUpTo: TXN_ID,
    appliedUpTo: Type.Optional(TXN_ID),
    lag: COUNT,
    pending: Type.Optional(COUNT),
    uploads: COUNT,
  },
  { title: "SyncProgress" },
);

const SyncFault = Type.Object(
  { code: Type.String(), message: Type.String(), at: TIME },
  { title: "SyncFault" },
);

const SyncTransport = Type.Object(
  {
    framesIn: COUNT,
    framesOut: COUNT,
    bytesIn: COUNT,
    bytesOut: COUNT,
    queuedBytes: COUNT,
    roundTripMs: Type.Optional(MS),
    heardMsAgo: MS,
    lastError: Type.Optional(SyncFault),
  },
  { title: "SyncTransport" },
);

const SyncPeer = Type.Object(
  {
    peerKeyString: Type.String({ description: "Names the installation." }),
    deviceName: Type.String(),
    os: Type.String(),
    sdkVersion: Type.String(),
    userId: Type.Optional(Type.String({ description: "Left out for an API key." })),
    peerMetadata: OBJECT,
    identityServiceMetadata: OBJECT,
    address: Type.Optional(Type.String()),
    connectedSince: TIME,
    expiresAt: Type.Optional(TIME),
    site: Type.String(),
    subscriptions: Type.Array(SyncSubscription),
    otherSubscriptions: Type.Optional(COUNT),
    sync: SyncProgress,
    transport: SyncTransport,
  },
  { title: "SyncPeer" },
);

const ExplainedDocument = Type.Object(
  {
    collection: Type.String(),
    id: AnyValue,
    exists: Type.Boolean(),
    isDeleted: Type.Boolean(),
    changedAt: Type.Optional(TXN_ID),
  },
  { title: "ExplainedDocument" },
);

const ExplainedSubscription = Type.Object(
  {
    query: Type.String(),
    args: OBJECT,
    state: Type.String(),
    isMatching: Type.Optional(Type.Boolean()),
    isPermitted: Type.Optional(Type.Boolean()),
    sentUpTo: Type.Optional(TXN_ID),
    error: Type.Optional(Type.String()),
  },
  { title: "ExplainedSubscription" },
);

const ExplainedUpload = Type.Object(
  {
    site: Type.String(),
    number: COUNT,
    txn: TXN_ID,
    outcome: Type.Enum(["refused", "stale"]),
    reason: Type.String(),
  },
  { title: "ExplainedUpload" },
);

const ExplainedTransactions = Type.Object(
  {
    documentTxn: Type.Optional(TXN_ID),
    sentUpTo: Type.Optional(TXN_ID),
    appliedUpTo: Type.Optional(TXN_ID),
    serverTxn: TXN_ID,
  },
  { title: "ExplainedTransactions" },
);

const SyncExplanation = Type.Object(
  {
    peer: OBJECT,
    verdict: Type.Enum([...SYNC_VERDICTS]),
    reason: Type.String(),
    document: ExplainedDocument,
    subscriptions: Type.Array(ExplainedSubscription),
    txnIds: ExplainedTransactions,
    uploads: Type.Array(ExplainedUpload),
  },
  { title: "SyncExplanation" },
);

export const DEVICE_SCHEMAS: readonly TSchema[] = [
  Type.Object(
    {
      peers: Type.Array(SyncPeer),
      next: Type.Optional(
        Type.Integer({ minimum: 1, description: "There are more, behind this: ask with `after`." }),
      ),
    },
    { title: "SyncPeersResponse" },
  ),
  Type.Object({ items: Type.Array(SyncExplanation) }, { title: "SyncExplainResponse" }),
];
