/**
 * Cluster status: what the nodes of a cluster are and do, gathered from those that are alive.
 */

import type { Value, ValueObject } from "@bigpeer/protocol";
import type { ClusterStores } from "./cluster-stores.ts";
import type { Membership } from "./membership.ts";

/** How long a node may take to tell. */
const ANSWER_MS_MAX = 2_000;

export interface StatusHost {
  readonly cluster: string;
  readonly node: string;
  readonly version: string;
  /** The newest format of log entries that this node reads. */
  readonly entryFormat: number;
  readonly url: () => string;
  readonly stores: Pick<ClusterStores, "all">;
  readonly membership: Pick<Membership, "heard" | "find">;
  readonly ageSeconds: () => number | undefined;
  /** Asks another node for its own part. */
  readonly ask: (url: string, signal: AbortSignal) => Promise<Value>;
}

/** A store on one node. */
type StoreStatus = {
  readonly store: string;
  readonly role: string;
  /** The node that evaluates it, as far as this node knows. */
  readonly evaluator: string;
  readonly epoch: number;
  readonly sequence: number;
  readonly transactionId: number;
};

/** What a node tells of itself. */
export function ownStatus({ stores, ageSeconds }: StatusHost): ValueObject {
  const all = Array.from(stores.all(), ([store, { replica }]): StoreStatus => {
    const { role, evaluator, position, store: opened } = replica;
    const { epoch, sequence } = position;
    return { store, role, evaluator, epoch, sequence, transactionId: opened.txnId };
  });
  return { ageSeconds: ageSeconds() ?? 0, stores: all };
}

/** The whole cluster, as this node sees it. */
export async function clusterStatus(host: StatusHost): Promise<ValueObject> {
  const { cluster, node, version, entryFormat, url, membership } = host;
  const known = { node, url: url(), version, entryFormat };
  const self = { ...known, isAlive: true, heardMs: 0, ...ownStatus(host) };
  const others = membership.heard().map(async ({ info, agoMs }) => {
    const isAlive = membership.find(info.node) !== undefined;
    const answer = isAlive ? await askNode(host, info.url) : {};
    return {
      node: info.node,
      url: info.url,
      version: info.version,
      entryFormat: info.entryFormat,
      isAlive,
      heardMs: Math.round(agoMs),
      ...answer,
    };
  });
  return { cluster, nodes: [self, ...(await Promise.all(others))] };
}

async function askNode({ ask }: StatusHost, url: string): Promise<ValueObject> {
  try {
    return (await ask(url, AbortSignal.timeout(ANSWER_MS_MAX))) as ValueObject;
  } catch {
    // It is alive by its heartbeats, but does not answer.
    return {};
  }
}
