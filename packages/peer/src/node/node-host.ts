/**
 * Node host: what a peer asks of Node, in memory and in a folder.
 *
 * @bigpeer/node has the same clock, random bytes and hashes for the server. It is not used here,
 * because a peer in memory runs where that package, with its native storage, is not installed.
 */

import { AsyncLocalStorage, AsyncResource } from "node:async_hooks";
import { createHash, randomBytes } from "node:crypto";
import { hostname, platform as osName } from "node:os";
import { setImmediate } from "node:timers/promises";
import { PLAN_EXPLAINER } from "@bigpeer/engine/explain";
import { PatternCompiler } from "@bigpeer/engine/pattern";
import { openAttachments } from "../attachments/open-attachments.ts";
import type { PeerHost } from "../host/peer-host.ts";
import { faultOfError } from "./connection-fault.ts";
import { openPath } from "./content-file.ts";
import { dialWebSocket } from "./web-socket.ts";

const patterns = new PatternCompiler();

export const nodeHost: PeerHost = {
  platform: {
    now: () => Date.now(),
    elapsed: () => performance.now(),
    pause: () => setImmediate(),
    // Plain arrays: a Buffer is another class than the one that storage returns.
    random: (size) => new Uint8Array(randomBytes(size)),
    sha256: (bytes) => new Uint8Array(createHash("sha256").update(bytes).digest()),
    pattern: (source, flags) => patterns.compile(source, flags),
    explainer: () => PLAN_EXPLAINER,
  },
  // The name alone, because statements select peers by it.
  os: osName(),
  sdk: "bigpeer-node",
  deviceName: hostname(),
  loadCode: () => undefined,
  dial: dialWebSocket,
  faultOf: faultOfError,
  after: (ms, work) => {
    const timer = setTimeout(work, ms).unref();
    return () => clearTimeout(timer);
  },
  warn: (warning) => process.emitWarning(warning),
  newContext: <T>() => new AsyncLocalStorage<T>(),
  openAttachments: (parts) => openAttachments(parts, nodeHost, openPath),
  outside: (work) => AsyncResource.bind(() => work()),
};
