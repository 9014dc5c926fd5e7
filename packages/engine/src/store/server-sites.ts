/**
 * Server sites: list of the sites of Big Peers, under which no upload is taken (K75): those of
 * former incarnations of this store, and those that linked stores have sent (S60).
 *
 * A counter keeps one sum for each site. An upload under the site of another store would replace
 * the sum of that store, and its count would be lost. Sites of devices are not listed: a device may
 * offer the same uploads to several stores (S77).
 */

import type { CatalogOperation, Site } from "@bigpeer/protocol";
import { SERVER_SITES_MAX } from "../limits.ts";
import { catalogKey } from "./keys.ts";
import type { Identity } from "./records.ts";
import type { Transaction } from "./transaction.ts";
import type { View } from "./view.ts";

/** The section of the catalog. */
const SECTION = "server_sites";

export function serverSiteKey(site: Site): string {
  return catalogKey(SECTION, site);
}

export function isServerSite(view: View, site: Site): boolean {
  return view.catalog(SECTION, site) !== undefined;
}

/** The recorded sites. */
export function serverSites(view: View): Site[] {
  return [...view.catalogNames(SECTION, { limit: SERVER_SITES_MAX })];
}

/** The part of a store that can record sites. */
interface SiteStore {
  readonly identity: Identity;
  read<T>(work: (view: View) => T): T;
  transact(evaluate: (transaction: Transaction) => void): Promise<unknown>;
}

/** Records sites, up to the limit. Makes no transaction if all are known. */
export async function noteServerSites(store: SiteStore, sites: readonly Site[]): Promise<void> {
  const isNew = (view: View): boolean => newSites(view, store.identity.site, sites).length > 0;
  if (!store.read(isNew)) return;
  await store.transact((transaction) => {
    const found = newSites(transaction.view, store.identity.site, sites);
    transaction.apply(found.map(noteOf));
  });
}

function newSites(view: View, own: Site, sites: readonly Site[]): Site[] {
  const known = new Set(serverSites(view));
  const found = new Set(sites.filter((site) => site !== own && !known.has(site)));
  return [...found].slice(0, SERVER_SITES_MAX - known.size);
}

function noteOf(site: Site): CatalogOperation {
  return { kind: "catalog", section: SECTION, name: site, value: true };
}
