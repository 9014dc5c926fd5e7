/**
 * Node package: loads @bigpeer/node, the storage in a folder, when a peer needs it.
 *
 * The package is an optional peer dependency: it brings a native library, which a peer in memory
 * does not need. An app that uses a folder installs it beside @bigpeer/peer.
 */

import type * as node from "@bigpeer/node";
import { PeerError } from "@bigpeer/protocol";

const NAME = "@bigpeer/node";

/** The exports of the package. */
export type NodePackage = typeof node;

/** Throws PeerError `config.invalid` if the package is not installed. */
export async function loadNodePackage(
  load: () => Promise<NodePackage> = () => import("@bigpeer/node"),
): Promise<NodePackage> {
  try {
    return await load();
  } catch (cause) {
    if (!isAbsent(cause)) throw cause;
    const message = `expected the package ${NAME} for the option folder, found none`;
    const hint = `run npm install ${NAME}, or use memory: true`;
    throw new PeerError("config.invalid", message, { hint, cause });
  }
}

/** Whether it is this package that was not found, and not one that it imports. */
function isAbsent(cause: unknown): boolean {
  const { code, message } = (cause ?? {}) as { code?: unknown; message?: unknown };
  if (code !== "ERR_MODULE_NOT_FOUND" && code !== "MODULE_NOT_FOUND") return false;
  return String(message).includes(`'${NAME}'`);
}
