/**
 * Host: what the entry asks of Node or of a browser, and the peer that it runs on. Both peers of the
 * SDK, that of Node and that of a page, fit it.
 */

import type { PeerAttachments } from "../attachments/attachments.ts";
import type { AuthStatus } from "../auth.ts";
import type { Listener } from "../event-hub.ts";
import type { PeerDocuments } from "../local-store.ts";
import type { CredentialOptions } from "../options.ts";
import type { PeerEvents } from "../peer-events.ts";
import type { PeerPresences } from "../presence.ts";
import type { SyncStatus, SyncSubscription } from "../sync.ts";

/** What both peers have, of what is used here. */
export interface HostPeer {
  readonly store: Pick<PeerDocuments, "execute" | "registerObserver" | "transaction">;
  readonly sync: {
    start(): void;
    stop(): Promise<void>;
    readonly isActive: boolean;
    readonly status: SyncStatus;
    registerSubscription(query: string, args?: Readonly<Record<string, unknown>>): SyncSubscription;
  };
  readonly auth: { readonly status: AuthStatus; logout(): Promise<void> };
  readonly presence: Pick<PeerPresences, "graph" | "observe" | "peerMetadata" | "setPeerMetadata">;
  readonly attachments: PeerAttachments;
  on<Name extends keyof PeerEvents>(name: Name, listener: Listener<PeerEvents[Name]>): () => void;
  close(): Promise<void>;
}

export interface HostPeerOptions {
  readonly appId: string;
  readonly url: string;
  readonly login: NonNullable<CredentialOptions["login"]>;
  readonly deviceName: string;
  /** As {@link Host.directoryOf} gave it. */
  readonly directory: string;
}

export interface Host {
  /** Name of this device unless the app sets one. */
  readonly deviceName: string;
  /** The folder below which relative directories are; empty where there are no folders. */
  readonly rootDirectory: string;
  /** Absolute path of a persistence directory; in a browser its name. */
  directoryOf(directory: string): string;
  open(options: HostPeerOptions): Promise<HostPeer>;
  /** Writes a new file. Undefined where there are no files. */
  readonly writeFile?: (path: string, bytes: Uint8Array, isNew: boolean) => Promise<void>;
  /** Bytes that a directory takes. */
  diskUse(directory: string): Promise<number>;
  /** Writes a line of the log, for people. */
  print(isProblem: boolean, line: string): void;
}
