/**
 * Node name: identifies a node among the others of its cluster. It is drawn at the first start and
 * stays with the data folder.
 */

import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { readJsonFile, writeJsonFile } from "@bigpeer/node";
import { isObject, PeerError } from "@bigpeer/protocol";

const FILE = "cluster.json";

/** Throws PeerError `config.invalid` if the folder belongs to another cluster. */
export function nodeNameOf(dataDir: string, cluster: string): string {
  const path = join(dataDir, FILE);
  const content = readJsonFile(path);
  if (content === undefined) {
    const node = randomBytes(6).toString("hex");
    writeJsonFile(path, { cluster, node });
    return node;
  }
  const { cluster: known, node } = isObject(content) ? content : {};
  if (typeof known !== "string" || typeof node !== "string") {
    throw new PeerError("store.corrupt", `expected {"cluster", "node"} in ${path}`);
  }
  if (known === cluster) return node;
  const message = `the data folder ${dataDir} belongs to the cluster ${known}, not to ${cluster}`;
  throw new PeerError("config.invalid", message);
}
