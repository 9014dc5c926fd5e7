/**
 * Site records: for each site that uploads to a store, its last upload, its latest outcomes and its
 * owner (K27, K63).
 *
 * A site none of whose uploads was applied is also in an index by time, so that maintenance finds
 * the expired ones without reading all others (K64).
 */

import type { Site } from "@bigpeer/protocol";
import { UPLOADS_REMEMBERED } from "../limits.ts";
import type { Reader } from "../platform.ts";
import {
  siteKey,
  siteOfUnappliedKey,
  unappliedKey,
  unappliedRange,
  uploadKey,
  uploadRange,
} from "./keys.ts";
import type { Overlay } from "./overlay.ts";
import type { SiteRecord, UploadMark, UploadRecord } from "./records.ts";

export function siteRecordOf(reader: Pick<Reader, "get">, site: Site): SiteRecord | undefined {
  return reader.get(siteKey(site)) as SiteRecord | undefined;
}

/** Whether a site belongs to another than `owner`. An unused site has no owner. */
export function isOfAnother(record: SiteRecord | undefined, owner: string | undefined): boolean {
  return record?.owner !== undefined && owner !== undefined && record.owner !== owner;
}

/** Records that an upload was taken at `atMs`. */
export function recordUpload(
  overlay: Overlay,
  { site, number, digest, time, owner: claimed }: UploadMark,
  taken: Omit<UploadRecord, "digest">,
  atMs: number,
): void {
  const before = siteRecordOf(overlay, site);
  const wasApplied = before !== undefined && before.unappliedAt === undefined;
  const isApplied = wasApplied || taken.outcome !== "refused";
  const owner = before?.owner ?? claimed;
  if (before?.unappliedAt !== undefined) overlay.remove(unappliedKey(before.unappliedAt, site));
  if (!isApplied) overlay.put(unappliedKey(atMs, site), true);
  const record: UploadRecord = { digest, ...taken };
  overlay.put(uploadKey(site, number), record);
  overlay.put(siteKey(site), {
    number,
    digest,
    txnId: taken.txnId,
    time,
    ...(owner !== undefined && { owner }),
    ...(!isApplied && { unappliedAt: atMs }),
  });
  const forgotten = number - UPLOADS_REMEMBERED;
  if (forgotten > 0) overlay.remove(uploadKey(site, forgotten));
}

/** Forgets those of the sites that have no applied upload. False when there were none. */
export function forgetSites(overlay: Overlay, sites: readonly Site[]): boolean {
  const unapplied = sites.filter((site) => {
    return siteRecordOf(overlay, site)?.unappliedAt !== undefined;
  });
  for (const site of new Set(unapplied)) forgetSite(overlay, site);
  return unapplied.length > 0;
}

function forgetSite(overlay: Overlay, site: Site): void {
  const { unappliedAt = 0 } = siteRecordOf(overlay, site) ?? {};
  for (const key of overlay.keys(uploadRange(site))) overlay.remove(key);
  overlay.remove(unappliedKey(unappliedAt, site));
  overlay.remove(siteKey(site));
}

/**
 * Sites without an applied upload whose last one came before a time, the oldest first: as many as
 * have `keysMax` records together, and at least one.
 */
export function expiredSites(reader: Reader, beforeMs: number, keysMax: number): Site[] {
  const found: Site[] = [];
  let keys = 0;
  for (const key of reader.keys(unappliedRange(beforeMs))) {
    const site = siteOfUnappliedKey(key);
    keys += 2 + Math.min(siteRecordOf(reader, site)?.number ?? 0, UPLOADS_REMEMBERED);
    if (keys > keysMax && found.length > 0) return found;
    found.push(site);
  }
  return found;
}
