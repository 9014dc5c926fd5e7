/**
 * Open attachments: puts together the attachments of a peer, for a host.
 */

import { type ContentStats, PeerContents } from "@bigpeer/engine/peer";
import { PeerError, type ValueObject } from "@bigpeer/protocol";
import { describe, kindOf } from "../argument-check.ts";
import type { AttachmentParts, AttachmentTransfers } from "../host/attachment-transfers.ts";
import type { PeerHost } from "../host/peer-host.ts";
import { Attachments } from "./attachments.ts";
import type { OpenPath } from "./content-pieces.ts";
import { httpTransport } from "./http-transport.ts";

/** Bytes of all contents on the device, unless the app or the place sets it. */
const BYTES_MAX = 10 * 1024 ** 3;

/** Undefined if the place has none for contents. */
export function openAttachments(
  { options, place, peerStore, token, onError }: AttachmentParts,
  host: Pick<PeerHost, "platform" | "after">,
  openPath: OpenPath,
): AttachmentTransfers | undefined {
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
    attachments: new Attachments({ contents, openPath }),
    get fields() {
      return { attachments: fieldsOf(contents.stats) };
    },
    setActive: async (isActive) => (isActive ? contents.start() : contents.stop()),
    connected: () => contents.connected(),
    maintain: () => contents.maintain(),
    prefetch: (query, args, wish) => {
      if (!isPrefetching(wish)) return undefined;
      return contents.prefetch(peerStore.subscription(query, args));
    },
    close: () => contents.close(),
  };
}

/** Whether a subscription brings its attachments along. */
function isPrefetching(options: unknown): boolean {
  const { prefetch, ...others } = (options ?? {}) as Readonly<Record<string, unknown>>;
  const [other] = Object.keys(others);
  if (typeof options !== "object" || options === null || other !== undefined) {
    const found = other === undefined ? kindOf(options) : describe(other);
    const message = `expected { prefetch } as the options of a subscription, found ${found}`;
    throw new PeerError("config.invalid", message);
  }
  if (prefetch === undefined || typeof prefetch === "boolean") return prefetch === true;
  const message = `expected true or false as prefetch, found ${kindOf(prefetch)}`;
  throw new PeerError("config.invalid", message);
}

function fieldsOf(stats: ContentStats): ValueObject {
  return {
    uploads_waiting: stats.uploadsWaiting,
    downloads_waiting: stats.downloadsWaiting,
    failed: stats.failedCount,
    sent_bytes: stats.sentBytes,
    received_bytes: stats.receivedBytes,
    stored_bytes: stats.storedBytes,
  };
}
