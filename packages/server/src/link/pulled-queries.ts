/**
 * What a link pulls: those of the replications of its app that mean the partner.
 *
 * A replication means a partner when one of its addresses leads to it, or when it has no addresses
 * and the partner has called. Which of the two connections between them is left (S49) makes no
 * difference to that: so what is pulled does not depend on who happened to dial first.
 */

import { setField } from "@bigpeer/protocol";
import type { QueriesByCollection, Replication } from "../registry/replications.ts";

/** A link, as far as it decides what is pulled. */
export interface PullingLink {
  /** The address that was dialled, as addressKey has it; undefined for one that was accepted. */
  readonly address: string | undefined;
  /** The history of the other side; undefined until it has told it. */
  readonly partner: string | undefined;
}

/** What is known of the partners of an app. */
export interface KnownPartners {
  /** To whom each address led last, by addressKey. */
  readonly byAddress: ReadonlyMap<string, string>;
  /** Those who have called here. */
  readonly callers: ReadonlySet<string>;
}

/** Names of hosts are the same in capitals. */
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

/** Whether a link is one of a replication. */
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

/** Whether contents of attachments come with the documents: if one of its replications has it so. */
export function isEagerLink(
  replications: readonly Replication[],
  link: PullingLink,
  known: KnownPartners,
): boolean {
  return replications.some((each) => each.attachments === "eager" && isMeant(each, link, known));
}

/** The union of the queries of all replications that a link is one of. */
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
