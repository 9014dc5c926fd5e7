/**
 * Open peer: opens a peer on Node, in a folder or in memory.
 */

import { MemoryContents } from "@bigpeer/engine/peer";
import { MemoryKeyValue } from "@bigpeer/engine/store";
import { openMemory } from "../host/memory-place.ts";
import { checkOptions, type PeerOptions } from "../options.ts";
import { Peer } from "../peer.ts";
import { contentHash } from "./content-hash.ts";
import { nodeHost } from "./node-host.ts";
import { openFolder } from "./peer-folder.ts";

/**
 * Opens a peer: creates it, or opens the one in the folder. The peer connects only after
 * `sync.start`.
 *
 * @param options - App, server, storage and credential.
 * @returns The peer. Close it with {@link Peer.close}.
 * @throws `config.invalid`: an option is wrong or unknown, the folder cannot be used, or the
 * package `@bigpeer/node` is not installed, which a folder needs.
 * @throws `store.in_use`: another peer has the folder open.
 * @throws `store.foreign`: the folder holds something else, or the documents of another app.
 * @throws `store.format_newer`: a newer version wrote the folder.
 * @throws `store.corrupt`: the data in the folder is damaged.
 * @throws `store.full`, `store.write_failed`: the folder cannot be written.
 * @example
 * import { openPeer } from "@bigpeer/peer";
 *
 * const phone = await openPeer({ appId, url: dataUrl, token: apiKey, memory: true });
 * const tasks = phone.sync.registerSubscription("SELECT * FROM tasks");
 * phone.sync.start();
 * await tasks.whenReady();
 * await phone.close();
 */
export async function openPeer(options: PeerOptions): Promise<Peer> {
  const checked = checkOptions(options, nodeHost);
  const { folder } = checked;
  return Peer.open(checked, nodeHost, (parts) =>
    folder === undefined
      ? openMemory(new MemoryKeyValue(), parts, new MemoryContents(contentHash))
      : openFolder(folder, parts),
  );
}
