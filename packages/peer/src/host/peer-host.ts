/**
 * Peer host: what a peer asks of the place that it runs in, beside its storage: the engine's Platform,
 * connections, timers, warnings, its own description, and the context of asynchronous code.
 *
 * There are two: node/node-host.ts and web/web-host.ts. A peer receives one when it is opened and
 * calls nothing else of Node or of a browser, so no code asks where it runs.
 */

import type { KeyValue, Platform } from "@bigpeer/engine";
import type { ContentPlace, DialHandle, DialHandlers } from "@bigpeer/engine/peer";
import type { Store } from "@bigpeer/engine/store";
import type { AttachmentParts, AttachmentTransfers } from "./attachment-transfers.ts";

/** Why a connection attempt failed, in words. */
export interface ConnectionFault {
  readonly reason: string;
  /** Whether another attempt would most likely fail for the same reason. */
  readonly isLasting: boolean;
}

export interface PeerHost {
  readonly platform: Platform;
  /** The operating system, as Node names it: `linux`, `darwin`, `win32`; also `android`, `ios`. */
  readonly os: string;
  /** The SDK without its version, as other peers see it. */
  readonly sdk: string;
  /** The name of the device, if the app gives none. */
  readonly deviceName: string;
  /**
   * Loads what `platform.pattern` and `platform.explainer` need for a statement. Undefined if nothing
   * has to be loaded; otherwise the statement must not be prepared before the promise resolves.
   */
  loadCode(statement: string): Promise<void> | undefined;
  /** Opens a connection. `onLasting` receives a fault that a retry does not cure. */
  dial(url: string, handlers: DialHandlers, onLasting: (reason: string) => void): DialHandle;
  /** The fault of a request that failed below HTTP, by the error of its cause. */
  faultOf(error: Error, url: string): ConnectionFault;
  /** Calls `work` once after `ms`; does not keep the process alive. Returns a function that cancels. */
  readonly after: (ms: number, work: () => void) => () => void;
  /** Shows an error or a warning that no listener received to the developer. */
  warn(warning: Error | string): void;
  newContext<T>(): AsyncContext<T>;
  /** Opens the attachments of a peer whose place has contents. */
  readonly openAttachments?: (parts: AttachmentParts) => AttachmentTransfers | undefined;
  /**
   * Of a host that may not see that a transaction was begun inside another one: what to add when a
   * transaction takes too long while another one waits.
   */
  readonly lateTransactionHint?: string;
  /** A function that runs `work` outside of the contexts of its caller. */
  outside(work: () => void): () => void;
}

/**
 * A value that belongs to running code. On Node it follows the code across `await`; in a browser,
 * which has no such means, it is only known until the code first waits.
 */
export interface AsyncContext<T> {
  run<R>(value: T, work: () => R): R;
  getStore(): T | undefined;
}

/** Where a peer keeps its documents and the contents of attachments. */
export interface PeerPlace {
  readonly contents?: ContentPlace;
  /** In a browser, a database for contents, which is opened on use; undefined for contents in memory. */
  readonly contentDatabase?: string;
  /** Bytes of all contents, at most, unless the app sets it. */
  readonly contentBytesMax?: number;
  /** Finishes the writes, then releases everything. Called after all that uses the store. */
  close(): Promise<void>;
  /** Closes it as `close` does, then removes what it kept. The next opening starts empty. */
  erase(): Promise<void>;
}

export interface PlaceOptions {
  readonly platform: Platform;
  /** May be called twice: the second time on the same storage, in a new incarnation. */
  readonly open: (storage: KeyValue) => Promise<Store>;
  readonly onWarning: (message: string) => void;
}

/** Opens the storage of a peer. */
export type OpenPlace = (options: PlaceOptions) => Promise<PeerPlace>;
