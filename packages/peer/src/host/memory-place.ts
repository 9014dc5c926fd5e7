/**
 * Memory place: keeps the documents and attachments of a peer in memory, until it is closed.
 */

import type { KeyValue } from "@bigpeer/engine";
import type { ContentPlace } from "@bigpeer/engine/peer";
import type { PeerPlace, PlaceOptions } from "./peer-host.ts";

/** Contents of attachments: the memory of the app is worth more. */
const CONTENT_BYTES_MAX = 64 * 1024 ** 2;

/** `storage` is empty, and belongs to the place from now on. */
export async function openMemory(
  storage: KeyValue & { close(): Promise<void> },
  { open }: Pick<PlaceOptions, "open">,
  contents?: ContentPlace,
): Promise<PeerPlace> {
  const store = await open(storage);
  const close = async (): Promise<void> => {
    await store.close();
    await storage.close();
  };
  return {
    ...(contents !== undefined && { contents }),
    contentBytesMax: CONTENT_BYTES_MAX,
    close,
    erase: close,
  };
}
