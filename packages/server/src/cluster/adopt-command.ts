/**
 * `bigpeer cluster adopt`: takes the data folder of a server that was alone into a new cluster, with
 * the history of every store. Other nodes begin with copies.
 */

import { adopt } from "@bigpeer/engine/cluster";
import {
  acquireFolderLock,
  forgetIncarnation,
  nodePlatform,
  openReplicaStorage,
} from "@bigpeer/node";
import { PeerError } from "@bigpeer/protocol";
import type { Config } from "../config/config.ts";
import {
  appIdsInFolder,
  appStoreFolder,
  checkDataFolder,
  registryFolder,
} from "../config/data-folder.ts";
import type { Log } from "../observability/log.ts";
import { REGISTRY_STORE } from "../stores/stores.ts";
import { connectLogs } from "./nats/connect-logs.ts";
import { nodeNameOf } from "./node-name.ts";

/** Calls `print` with a line for each store. The server must not be running. */
export async function adoptDataFolder(
  config: Config,
  log: Log,
  print: (line: string) => void,
): Promise<void> {
  const { dataDir, cluster } = config;
  if (cluster === undefined) {
    throw new PeerError("config.invalid", "cluster adopt: expected --cluster nats://…");
  }
  checkDataFolder(dataDir);
  const lock = await acquireFolderLock(dataDir);
  try {
    const { nats, logs } = await connectLogs(cluster, log);
    try {
      const node = nodeNameOf(dataDir, cluster.name);
      const wait = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, WAIT_MS));
      for (const [name, folder] of storesIn(dataDir)) {
        const storage = await openReplicaStorage(folder, { log });
        try {
          if (storage.position === undefined) forgetIncarnation(folder);
          const host = { log: logs.log(name), storage, platform: nodePlatform, node, wait };
          print(`${name}: ${(await adopt(host)) ? "adopted" : "was adopted before"}`);
        } finally {
          await storage.close();
        }
      }
    } finally {
      await nats.close();
    }
  } finally {
    await lock.release();
  }
}

const WAIT_MS = 200;

/** The registry last: until then no node of the cluster can start. */
function storesIn(dataDir: string): [name: string, folder: string][] {
  const apps = appIdsInFolder(dataDir).map((id): [string, string] => {
    return [id, appStoreFolder(dataDir, id)];
  });
  return [...apps, [REGISTRY_STORE, registryFolder(dataDir)]];
}
