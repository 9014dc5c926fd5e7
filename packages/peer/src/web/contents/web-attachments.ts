/**
 * Web attachments: the attachments of a peer in a browser, for the worker and for its pages.
 */

import { MemoryContents } from "@bigpeer/engine/peer";
import { openAttachments } from "../../attachments/open-attachments.ts";
import type { AttachmentParts, AttachmentTransfers } from "../../host/attachment-transfers.ts";
import type { PeerHost } from "../../host/peer-host.ts";
import type { IndexedDb } from "../storage/indexed-db.ts";
import { contentHash } from "./content-hash.ts";
import { IndexedContents } from "./indexed-contents.ts";
import { PageTransfer } from "./page-transfer.ts";

export async function openWebAttachments(
  parts: AttachmentParts,
  host: Pick<PeerHost, "platform" | "after">,
): Promise<AttachmentTransfers | undefined> {
  const { place, peerStore } = parts;
  const contents = await openContents(place.contentDatabase);
  const opened = openAttachments({ ...parts, place: { ...place, contents } }, host, undefined);
  if (opened === undefined) return undefined;
  // Uploads that waited for this code.
  peerStore.offer();
  return {
    ...opened,
    get fields() {
      return opened.fields;
    },
    forPage: (page) => new PageTransfer(opened.contents, page),
    close: async () => {
      await opened.close();
      if (contents instanceof IndexedContents) await contents.close();
    },
  };
}

function openContents(database: string | undefined): Promise<MemoryContents | IndexedContents> {
  if (database === undefined) return Promise.resolve(new MemoryContents(contentHash));
  const db = globalThis as unknown as IndexedDb;
  return IndexedContents.open(db, database, contentHash);
}
