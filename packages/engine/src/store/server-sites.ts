/**
 * Server sites: the sites of Big Peers, under which nobody uploads (K75): those of former lives of this
 * store, and those that stores it was linked with have told (S60).
 *
 * The sums of a counter are told apart by site. Whoever wrote under the site of another store would put
 * his sum in the place of that store's, and what it had counted would be lost. A site of a device is
 * no such: the device itself may offer the same uploads to several stores (S30).
 */

import type { CatalogOperation, Site } from "@bigpeer/protocol";
import { SERVER_SITES_MAX } from "../limits.ts";
import { catalogKey } from "./keys.ts";
import type { Store } from "./store.ts";
import type { View } from "./view.ts";

/** The section of the catalog. */
const SECTION = "server_sites";

export function serverSiteKey(site: Site): string {
  return catalogKey(SECTION, site);
}

export function isServerSite(view: View, site: Site): boolean {
  return view.catalog(SECTION, site) !== undefined;
}

/** Those that are noted. */
export function serverSites(view: View): Site[] {
  return [...view.catalogNames(SECTION, { limit: SERVER_SITES_MAX })];
}

/** Notes sites, as many as there is room for. What is known makes no transaction. */
export async function noteServerSites(store: Store, sites: readonly Site[]): Promise<void> {
  const isNews = (view: View): boolean => newSites(view, store.identity.site, sites).length > 0;
  if (!store.read(isNews)) return;
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
