/**
 * Pulled queries: selects what a link pulls: queries of all replications that apply to its partner.
 *
 * A replication applies to a partner if one of its addresses leads to it, or if it has no addresses
 * and the partner has dialled this server. Which of two connections between them stays (S84) does
 * not matter: what is pulled does not depend on which side dialled first.
 */

import { setField } from "@bigpeer/protocol";
import type { QueriesByCollection, Replication } from "../registry/replications.ts";

/** The part of a link that decides what it pulls. */
export interface PullingLink {
  /** The dialled address, as addressKey returns it; undefined for an accepted link. */
  readonly address: string | undefined;
  /** The history of the other side; undefined until it has sent it. */
  readonly partner: string | undefined;
}

/** What is known about the partners of an app. */
export interface KnownPartners {
  /** The partner that each address led to last, by addressKey. */
  readonly byAddress: ReadonlyMap<string, string>;
  /** Partners that have dialled this server. */
  readonly callers: ReadonlySet<string>;
}

/** Host names are case-insensitive. */
export function addressKey(address: string): string {
  return address.toLowerCase();
}

/** All addresses of replications, each once, by addressKey. */
export function addressesOf(replications: readonly Replication[]): ReadonlyMap<string, string> {
  const addresses = new Map<string, string>();
  for (const { connections } of replications) {
    for (const address of connections) {
      const key = addressKey(address);
      if (!addresses.has(key)) addresses.set(key, address);
    }
  }
  return addresses;
}

/** Whether a replication applies to a link. */
export function isMeant(
  { connections }: Replication,
  { address, partner }: PullingLink,
  { byAddress, callers }: KnownPartners,
): boolean {
  if (connections.length === 0) {
    return address === undefined || (partner !== undefined && callers.has(partner));
  }
  return connections.some((each) => {
    const key = addressKey(each);
    return key === address || (partner !== undefined && byAddress.get(key) === partner);
  });
}

/** Whether contents of attachments come with the documents: if one of its replications is eager. */
export function isEagerLink(
  replications: readonly Replication[],
  link: PullingLink,
  known: KnownPartners,
): boolean {
  return replications.some((each) => each.attachments === "eager" && isMeant(each, link, known));
}

/** The union of the queries of all replications that apply to a link. */
export function pulledQueries(
  replications: readonly Replication[],
  link: PullingLink,
  known: KnownPartners,
): QueriesByCollection {
  const union = new Map<string, Set<string>>();
  for (const replication of replications) {
    if (!isMeant(replication, link, known)) continue;
    for (const [collection, queries] of Object.entries(replication.queriesByCollection)) {
      const texts = union.get(collection) ?? new Set();
      for (const query of queries) texts.add(query);
      union.set(collection, texts);
    }
  }
  const pulled: { [collection: string]: readonly string[] } = {};
  for (const [collection, texts] of union) setField(pulled, collection, [...texts]);
  return pulled;
}
