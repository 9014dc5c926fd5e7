/**
 * Open attachments: puts together the attachments of a peer, for a host.
 */

import { type ContentStats, PeerContents } from "@bigpeer/engine/peer";
import type { ValueObject } from "@bigpeer/protocol";
import type { AttachmentParts, AttachmentTransfers } from "../host/attachment-transfers.ts";
import type { PeerHost } from "../host/peer-host.ts";
import { Attachments } from "./attachments.ts";
import type { OpenPath } from "./content-pieces.ts";
import { httpTransport } from "./http-transport.ts";
import { isPrefetching } from "./subscription-check.ts";

/** Bytes of all contents on the device, unless the app or the place sets it. */
const BYTES_MAX = 10 * 1024 ** 3;

export interface OpenedAttachments extends AttachmentTransfers {
  readonly attachments: Attachments;
  readonly contents: PeerContents;
}

/** Undefined if the place has none for contents. */
export function openAttachments(
  { options, place, peerStore, token, onError }: AttachmentParts,
  host: Pick<PeerHost, "platform" | "after">,
  openPath: OpenPath,
): OpenedAttachments | undefined {
  if (place.contents === undefined) return undefined;
  const { baseUrl, appId, attachmentBytesMax } = options;
  const contents = new PeerContents({
    store: peerStore,
    place: place.contents,
    transport: httpTransport({
      url: `${baseUrl}/${appId}/api/v4/attachments`,
      token: () => token.get(),
      onUnauthorized: () => token.forget(),
    }),
    platform: host.platform,
    wakeIn: host.after,
    bytesMax: attachmentBytesMax ?? place.contentBytesMax ?? BYTES_MAX,
    onError,
  });
  return {
    contents,
    attachments: new Attachments({ contents, openPath }),
    get fields() {
      return { attachments: fieldsOf(contents.stats) };
    },
    setActive: async (isActive) => (isActive ? contents.start() : contents.stop()),
    connected: (credential) => contents.connected(credential),
    maintain: () => contents.maintain(),
    prefetch: (query, args, wish) => {
      if (!isPrefetching(wish)) return undefined;
      return contents.prefetch(peerStore.subscription(query, args));
    },
    close: () => contents.close(),
  };
}

function fieldsOf(stats: ContentStats): ValueObject {
  return {
    uploads_waiting: stats.uploadsWaiting,
    downloads_waiting: stats.downloadsWaiting,
    failed: stats.failedCount,
    sent_bytes: stats.sentBytes,
    received_bytes: stats.receivedBytes,
    stored_bytes: stats.storedBytes,
    upload_error: stats.uploadFault ?? null,
  };
}
