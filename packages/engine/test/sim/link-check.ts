/**
 * What must hold of linked sites when there is peace and everyone has settled.
 */

import { compareBytes, msOfTime } from "@bigpeer/protocol";
import { stateToBytes } from "../../src/crdt/state-codec.ts";
import { MemoryKeyValue } from "../../src/store/memory-key-value.ts";
import { View } from "../../src/store/view.ts";
import { describeDoc, valueText } from "../support/dump.ts";
import { problems } from "../support/open-store.ts";
import { checkWorld, isSettled } from "./end-check.ts";
import type { LinkCluster } from "./link-cluster.ts";
import { placeOf, splitPlace } from "./server-oracle.ts";
import { TALLY } from "./sim-rules.ts";
import type { SimSite } from "./sim-site.ts";
import { TALLIES } from "./sim-statements.ts";
import { UNKNOWN_ADD } from "./site-book.ts";

/** Why a run has not settled; undefined when it has. */
export function unsettled(cluster: LinkCluster): string | undefined {
  for (const site of cluster.sites) {
    if (!site.isUp) return `${site.name} is down`;
    const reason = isSettled(site);
    if (reason !== undefined) return `${site.name}: ${reason}`;
    for (const other of site.pulls.keys()) {
      const fault = unsettledLink(site, cluster.site(other));
      if (fault !== undefined) return `${site.name} with ${other}: ${fault}`;
    }
  }
  return undefined;
}

function unsettledLink(site: SimSite, other: SimSite): string | undefined {
  const link = site.linkWith(other.name);
  if (link === undefined) return "there is no link";
  const { connection } = link.end;
  const theirs = other.linkWith(site.name);
  if (theirs?.end.connection !== connection) return "the sides have different links";
  const [first] = [site, other].toSorted((a, b) => (historyOf(a) < historyOf(b) ? -1 : 1));
  const isMutual = site.dials.has(other.name) && other.dials.has(site.name);
  if (isMutual && connection.dialler !== first?.name) return "another link is going to stay (S49)";
  if (connection.up.isBroken || connection.down.isBroken) return "it is cut and nobody knows";
  if (!connection.up.isIdle || !connection.down.isIdle) return "something is on its way";
  const { subscriptions } = link.status();
  const wanted = new Set(
    site.pulls.get(other.name)?.map(({ collection, rule }) => `${collection} ${rule.text}`),
  );
  for (const { collection, query, state } of subscriptions) {
    if (!wanted.delete(`${collection} ${query}`)) return `${query} is not wanted`;
    if (state !== "live") return `${query} is ${state}`;
  }
  return wanted.size === 0 ? undefined : `not followed: ${[...wanted].join()}`;
}

function historyOf({ book }: SimSite): string {
  return book.life?.history ?? "";
}

/**
 * How far the newest stamp of any site is ahead of the true time. A site that came back from a copy has
 * forgotten it; its peers have not, and send it again.
 */
export function aheadMs({ sites }: LinkCluster, trueMs: number): number {
  let ahead = 0;
  for (const { node } of sites.flatMap((site) => [site, ...site.peers])) {
    const { time } = viewOf(node.disk).head;
    ahead = Math.max(ahead, msOfTime(time) - trueMs);
  }
  return ahead;
}

export function checkLinksAtEnd(cluster: LinkCluster): void {
  const { sites, claims, scheduler } = cluster;
  for (const site of sites) {
    checkWorld(site);
    const [problem] = problems(new MemoryKeyValue(site.node.disk));
    if (problem !== undefined) scheduler.fail("a store is whole", `${site.name}: ${problem}`);
    for (const [other, pulls] of site.pulls) {
      const { life, txn } = cluster.site(other).book;
      const source = life?.history ?? "";
      for (const { collection, rule } of pulls) {
        claims.check(site.book, [{ source, collection, condition: rule.text, txn }]);
      }
    }
    checkTallies(cluster, site);
  }
  for (const a of sites) for (const b of sites) if (a.name < b.name) checkSame(cluster, a, b);
}

/** Who has had the same writes has the same bytes. */
function checkSame({ scheduler }: LinkCluster, a: SimSite, b: SimSite): void {
  const [viewA, viewB] = [viewOf(a.node.disk), viewOf(b.node.disk)];
  for (const collection of a.book.life === undefined ? [] : viewA.collections()) {
    for (const place of a.book.life?.placesOf(collection) ?? []) {
      if (describeDoc(a.book.docOf(place)) !== describeDoc(b.book.docOf(place))) continue;
      const [, id] = splitPlace(place);
      const bytesA = stateToBytes(viewA.state(collection, id).state);
      const bytesB = stateToBytes(viewB.state(collection, id).state);
      if (compareBytes(bytesA, bytesB) === 0) continue;
      scheduler.fail("the same writes are the same bytes", `${place} at ${a.name} and ${b.name}`);
    }
  }
}

/** Each increment that has come to a site counts there, and counts once. */
function checkTallies(cluster: LinkCluster, { name, book, node }: SimSite): void {
  const view = viewOf(node.disk);
  for (const id of TALLIES) {
    const adds = book.addsOf(placeOf(TALLY, id));
    if (adds.has(UNKNOWN_ADD)) {
      cluster.count("unknown tally");
      continue;
    }
    let expected = 0;
    for (const add of adds) expected += cluster.amountOf(add.split(" ")[1] ?? "", id);
    const found = view.get(TALLY, id)?.fields["n"] ?? 0;
    cluster.count("tally");
    if (found === expected) continue;
    const detail = `${name} ${id} is ${valueText(found)}, added were ${expected}`;
    cluster.scheduler.fail("counters are exact", detail);
  }
}

function viewOf(disk: ConstructorParameters<typeof MemoryKeyValue>[0]): View {
  return new View(new MemoryKeyValue(disk).snapshot());
}
