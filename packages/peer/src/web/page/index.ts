/**
 * The small peer for browsers: an offline-first store that syncs with a Big Peer and lasts through
 * reloads, in every tab.
 */

import { PeerError } from "@bigpeer/protocol";
import { describe } from "../../argument-check.ts";
import { type CheckedWithoutMetadata, checkWithoutMetadata } from "../../options.ts";
import { ownCopy } from "../../plain-value.ts";
import type { PageOptions } from "../messages.ts";
import { deviceOf } from "../user-agent.ts";
import { type WebPort, type WebSharedWorker, web } from "../web-globals.ts";
import { workerName } from "../worker-name.ts";
import type { PeerOptions } from "./page-interface.ts";
import { PagePeer } from "./page-peer.ts";
import type { WorkerPort } from "./worker-link.ts";

export type { EndCode, RefusedUpload, SubscriptionStatus } from "@bigpeer/engine/peer";
export type { Warning } from "@bigpeer/engine/query";
export type { UploadStep } from "@bigpeer/engine/store";
export { type ErrorCode, type ErrorDetails, PeerError, type TextPlace } from "@bigpeer/protocol";
export type {
  AttachmentToken,
  FetchedAttachment,
  FetchOptions,
  FetchProgress,
  PeerAttachments,
} from "../../attachments/attachments.ts";
export type { AttachmentContent } from "../../attachments/content-pieces.ts";
export type { AuthStatus, PeerAuth } from "../../auth.ts";
export type { Listener } from "../../event-hub.ts";
export type {
  Arguments,
  QueryResult,
  StoreTransaction,
  TransactionResult,
} from "../../local-store.ts";
export type { ObservedResult, ObserverCallback, StoreObserver } from "../../observer.ts";
export type {
  CommonOptions,
  CredentialOptions,
  Login,
  LoginDetails,
  RemotePolicy,
  RemoteStatement,
  SessionDetails,
} from "../../options.ts";
export type { EraseOptions } from "../../peer.ts";
export type { PeerEvents } from "../../peer-events.ts";
export type { PlainObject, PlainValue } from "../../plain-value.ts";
export type {
  LocalPeerPresence,
  PeerPresence,
  PeerPresences,
  PresenceGraph,
  PresenceObserver,
  RemotePeerPresence,
} from "../../presence.ts";
export type { RemoteRun } from "../../remote.ts";
export type {
  AwayCode,
  SubscriptionOptions,
  SyncState,
  SyncStatus,
  SyncSubscription,
} from "../../sync.ts";
// The same names as on Node, so that a module can be shared.
export type {
  BrowserConnection as PeerConnection,
  BrowserDocuments as PeerDocuments,
  BrowserOptions,
  PeerOptions,
} from "./page-interface.ts";
export type { PagePeer as Peer } from "./page-peer.ts";
export type { PeerStorage, StorageUse } from "./page-storage.ts";

const NAME_SIZE_MAX = 100;

/** All options; the compiler checks that none is missing. */
const NAMES: { readonly [Name in keyof Required<PeerOptions>]: true } = {
  appId: true,
  url: true,
  name: true,
  memory: true,
  token: true,
  login: true,
  deviceName: true,
  metadata: true,
  remote: true,
  attachmentBytesMax: true,
  workerUrl: true,
  patternsUrl: true,
  explainUrl: true,
  attachmentsUrl: true,
};

/**
 * Opens a peer: creates it, or opens the one that this browser has for the app and the name. The
 * peer connects only after `sync.start`.
 *
 * @param options - App, server, name and credential.
 * @returns The peer. Close it with {@link PagePeer.close}, or leave that to the end of the page.
 * @throws `config.invalid`: an option is wrong or unknown, the page is not a secure context, the
 * worker cannot be loaded, or other pages have opened the name with another `url`.
 * @throws `store.in_use`: another tab runs the peer and cannot share it, or runs a newer build.
 * @throws `store.format_newer`: a newer version wrote the store.
 * @throws `store.corrupt`: the data in the browser is damaged.
 * @example
 * import { openPeer } from "@bigpeer/peer";
 *
 * const peer = await openPeer({ appId, url: dataUrl, token: apiKey });
 * const tasks = peer.sync.registerSubscription("SELECT * FROM tasks");
 * peer.sync.start();
 * await tasks.whenReady();
 */
export async function openPeer(options: PeerOptions): Promise<PagePeer> {
  checkPage();
  const checked = checkWithoutMetadata(options, Object.keys(NAMES));
  const { workerUrl = new URL("./bigpeer-worker.js", import.meta.url), login, remote } = options;
  const warnings: string[] = [];
  const engine = new URL(workerUrl, web.location.href);
  const { href } = options.workerUrl === undefined ? loaderOf(engine) : engine;
  return PagePeer.open({
    options: pageOptions(options, checked, engine),
    connect: (moved) => connect({ options, script: moved ?? href, engine: engine.href, warnings }),
    login,
    remote,
    warnings,
  });
}

/**
 * The script that loads the engine in a SharedWorker. Vite would make so small a file a data URL, which
 * has no origin; other bundlers may do so still. Service workers keep the file by its name alone.
 */
function loaderOf(engine: URL): URL {
  const loader = new URL("./bigpeer-loader.js?no-inline", import.meta.url);
  if (loader.origin !== engine.origin) return engine;
  loader.searchParams.delete("no-inline");
  loader.hash = encodeURIComponent(engine.href);
  return loader;
}

/** Browsers give locks to secure contexts alone. */
function checkPage(): void {
  if (web.isSecureContext) return;
  const message = `expected a page with https or of localhost, found ${web.location.href}`;
  throw new PeerError("config.invalid", message);
}

function pageOptions(
  options: PeerOptions,
  { baseUrl, credential, remote, ...checked }: CheckedWithoutMetadata,
  script: URL,
): PageOptions {
  const { name = "default", metadata, memory } = options;
  if (typeof name !== "string" || name === "" || name.length > NAME_SIZE_MAX) {
    const message = `expected a name of at most ${NAME_SIZE_MAX} characters, found ${describe(name)}`;
    throw new PeerError("config.invalid", message);
  }
  // Bundlers that find such a URL bring the file along.
  const { patternsUrl = new URL("./bigpeer-patterns.js", import.meta.url) } = options;
  const { explainUrl = new URL("./bigpeer-explain.js", import.meta.url) } = options;
  const { attachmentsUrl = new URL("./bigpeer-attachments.js", import.meta.url) } = options;
  const { os, deviceName } = deviceOf(web.navigator.userAgent);
  return {
    ...checked,
    url: baseUrl,
    name,
    os,
    deviceName: checked.deviceName ?? deviceName,
    token: credential.kind === "token" ? credential.token : undefined,
    metadata: ownCopy(metadata),
    remote: typeof remote === "function" ? "ask" : remote,
    isInMemory: memory === true,
    openedAtMs: Date.now(),
    patternsUrl: new URL(patternsUrl, script).href,
    explainUrl: new URL(explainUrl, script).href,
    attachmentsUrl: new URL(attachmentsUrl, script).href,
  };
}

/** Longer than a worker takes to start; a slow one gets several ports, which does no harm. */
const HELLO_MS_MAX = 2_000;

interface Connecting {
  readonly options: PeerOptions;
  /** Of the worker. */
  readonly script: string;
  readonly engine: string;
  readonly warnings: string[];
}

/** A SharedWorker, or else the engine in this page. */
async function connect({ options, script, engine, warnings }: Connecting): Promise<WorkerPort> {
  const { appId, name = "default", memory } = options;
  if (memory === true) return inPage(engine);
  warnings.length = 0;
  const worker = newWorker(script, workerName(`bigpeer:${appId}:${name}`, script));
  if (worker === undefined) {
    warnings.push(
      `the engine runs in this page, because no SharedWorker could be made from ${script}; other tabs cannot open the peer`,
    );
    return inPage(engine);
  }
  const failed = new Promise<never>((_, reject) => {
    worker.addEventListener("error", () => reject(notLoaded(script)));
  });
  return { port: worker.port, failed, helloMsMax: HELLO_MS_MAX };
}

/** Undefined if the script is of another origin, or the browser has no such workers. */
function newWorker(script: string, name: string): WebSharedWorker | undefined {
  const { SharedWorker, location } = web;
  if (SharedWorker === undefined) return undefined;
  if (new URL(script).origin !== new URL(location.href).origin) return undefined;
  try {
    return new SharedWorker(script, { name, type: "module" });
  } catch {
    return undefined;
  }
}

async function inPage(engine: string): Promise<WorkerPort> {
  let code: { readonly hostInPage: () => WebPort };
  try {
    code = (await import(/* webpackIgnore: true */ /* @vite-ignore */ engine)) as typeof code;
  } catch (cause) {
    throw notLoaded(engine, cause);
  }
  // It cannot be ending.
  return { port: code.hostInPage(), failed: new Promise(() => {}), helloMsMax: Infinity };
}

function notLoaded(script: string, cause?: unknown): PeerError {
  const message = `the worker of this peer cannot be loaded from ${script}`;
  return new PeerError("config.invalid", message, { cause });
}
