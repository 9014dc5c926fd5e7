/**
 * Page peer: a peer in the browser, as a page has it. The worker runs it for all pages of the app;
 * this is a client of it with the same methods as on Node.
 */

import { PeerError } from "@bigpeer/protocol";
import { checkCleanup, checkErase, checkListener } from "../../argument-check.ts";
import { Attachments, type PeerAttachments } from "../../attachments/attachments.ts";
import type { AuthStatus, PeerAuth } from "../../auth.ts";
import { EventHub, type Listener } from "../../event-hub.ts";
import type { Login, RemotePolicy } from "../../options.ts";
import type { EraseOptions } from "../../peer.ts";
import { EVENT_NAMES, type PeerEvents } from "../../peer-events.ts";
import type { PeerPresences } from "../../presence.ts";
import type { PageOptions, PeerNotice, PeerState, Question } from "../messages.ts";
import { errorFrom } from "../sent-error.ts";
import { web } from "../web-globals.ts";
import { PageContents } from "./page-contents.ts";
import type { BrowserConnection, BrowserDocuments } from "./page-interface.ts";
import { PagePresence } from "./page-presence.ts";
import { PageStorage, type PeerStorage } from "./page-storage.ts";
import { PageStore } from "./page-store.ts";
import { PageSync } from "./page-sync.ts";
import { type Opened, WorkerLink, type WorkerPort } from "./worker-link.ts";

export interface PagePeerOptions {
  readonly options: PageOptions;
  readonly connect: (url: string | undefined) => Promise<WorkerPort>;
  readonly login: (() => Login | Promise<Login>) | undefined;
  readonly remote: RemotePolicy | undefined;
  /** Warnings from before the peer was open. */
  readonly warnings: readonly string[];
}

/**
 * A small peer in a browser: a document store that all pages of an app share, and that syncs with a
 * server.
 *
 * @example
 * const stop = peer.on("status", ({ state }) => console.log("connection:", state));
 * await peer.store.execute("INSERT INTO tasks DOCUMENTS ({'_id': 't1', 'title': 'Tea'})");
 * stop();
 * await peer.close();
 */
export class PagePeer {
  /** Id of the app whose documents the peer holds. */
  readonly appId: string;
  /** The documents: statements, observers and transactions. */
  readonly store: BrowserDocuments;
  /** The connection to the server, and subscriptions. */
  readonly sync: BrowserConnection;
  /** The other connected peers, and the metadata of this one. */
  readonly presence: PeerPresences;
  /** Contents that are too large for documents, such as photos and files. */
  readonly attachments: PeerAttachments;
  /** The authentication state, and logout, which holds for all pages. */
  readonly auth: PeerAuth<PagePeer>;
  /** How much storage the browser gives to the page, and whether it may take it back. */
  readonly storage: PeerStorage;
  readonly #options: PagePeerOptions;
  readonly #events = new EventHub<PeerEvents>(showWarning);
  readonly #link: WorkerLink;
  readonly #store: PageStore;
  readonly #sync: PageSync;
  readonly #presence: PagePresence;
  readonly #contents: PageContents;
  #state: PeerState | undefined;
  /** See `opened` in messages.ts. */
  #opening: string | undefined;
  /** Events from before the app can listen; undefined once they are delivered. */
  #held: (() => void)[] | undefined = [];
  #closing: Promise<void> | undefined;

  private constructor(options: PagePeerOptions) {
    this.#options = options;
    this.appId = options.options.appId;
    this.#link = new WorkerLink({
      options: options.options,
      connect: options.connect,
      onMessage: (message) => this.#receive(message),
      onQuestion: (question) => this.#answer(question),
      onRestart: (opened) => this.#restore(opened),
      onEnd: (error) => this.#end(error),
    });
    const onError = (error: unknown): void => this.#fail(error);
    const state = (): PeerState => this.#known;
    const storage = new PageStorage(!options.options.isInMemory, web.navigator.storage);
    this.storage = storage;
    const onWrite = (): void => storage.askToKeep();
    this.#store = new PageStore({ link: this.#link, onError, onWrite });
    this.#sync = new PageSync({ link: this.#link, state, onError });
    this.#presence = new PagePresence({ link: this.#link, state, onError });
    this.#contents = new PageContents(this.#link);
    this.attachments = new Attachments({ contents: this.#contents, openPath: undefined });
    this.store = this.#store;
    this.sync = this.#sync;
    this.presence = this.#presence;
    this.auth = this.#newAuth();
  }

  static async open(options: PagePeerOptions): Promise<PagePeer> {
    const peer = new PagePeer(options);
    const measured = peer.storage.update().catch(() => {});
    const { state, opening } = await peer.#link.open();
    peer.#state = state;
    peer.#opening = opening;
    await measured;
    for (const warning of options.warnings) peer.#held?.push(() => peer.#warn(warning));
    setTimeout(() => peer.#deliverHeld());
    return peer;
  }

  /**
   * Calls a listener with each event of a name. Events of the peer reach all of its pages.
   *
   * @param name - `status`, `refused`, `remote`, `error` or `warning`.
   * @param listener - Receives the event.
   * @returns A function that removes the listener.
   * @throws `config.invalid`: the name is unknown, or the listener is not a function.
   */
  on<Name extends keyof PeerEvents>(name: Name, listener: Listener<PeerEvents[Name]>): () => void {
    checkListener(name, listener, EVENT_NAMES);
    return this.#events.on(name, listener);
  }

  /** Whether this page has closed the peer, or the peer has ended. */
  get isClosed(): boolean {
    return this.#closing !== undefined;
  }

  /**
   * Closes the peer for this page: its observers and subscriptions end. The other pages, and their
   * connection, continue. A second call returns the same promise.
   */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  /**
   * Deletes the data of this peer in this browser, and closes the peer for all pages. The documents
   * stay on the server.
   *
   * @param options - Whether to erase waiting writes as well.
   * @throws `store.pending`: writes wait for the server. Nothing was deleted.
   * @throws `store.closed`: the peer is closed.
   */
  async erase(options: EraseOptions = {}): Promise<void> {
    await this.#link.call("erase", checkErase(options));
    await this.close();
  }

  async #close(): Promise<void> {
    this.#presence.close();
    this.#store.close();
    this.#sync.close();
    this.#state &&= stopped(this.#state);
    await this.#link.close();
  }

  get #known(): PeerState {
    if (this.#state === undefined) throw new PeerError("store.closed", "the peer is not open");
    return this.#state;
  }

  #newAuth(): PagePeer["auth"] {
    const status = (): AuthStatus => this.#known.auth;
    return {
      get status() {
        return status();
      },
      logout: async (cleanup) => {
        checkCleanup(cleanup);
        await this.#link.call("logout");
        await cleanup?.(this);
      },
    };
  }

  #receive(message: PeerNotice): void {
    switch (message.kind) {
      case "state":
        this.#state = message.state;
        return;
      case "part":
        return this.#store.take(message.of, message.rows);
      case "rows":
        return void this.#store.deliver(message);
      case "observerEnded":
        return this.#store.ended(message.observer, message.error && errorFrom(message.error));
      case "subscription":
        return this.#sync.changed(message.subscription, message.status);
      case "presence":
        return this.#presence.changed(message.graph);
      case "progress":
        return this.#contents.progressed(message.fetch, message.received);
      case "event":
        return this.#heard(message);
    }
  }

  #deliverHeld(): void {
    const held = this.#held ?? [];
    this.#held = undefined;
    for (const deliver of held) deliver();
  }

  #heard(event: Extract<PeerNotice, { kind: "event" }>): void {
    if (this.#held !== undefined) return void this.#held.push(() => this.#heard(event));
    if (event.name === "error") this.#fail(errorFrom(event.details));
    else if (event.name === "warning") this.#warn(event.details);
    else this.#events.emit(event.name, event.details);
  }

  async #answer(question: Question): Promise<unknown> {
    const { login, remote } = this.#options;
    if (question.kind === "login") return await login?.();
    if (question.kind === "transaction") return await this.#store.runScope(question.transaction);
    if (question.kind === "piece") return await this.#contents.nextPiece(question.content);
    return typeof remote === "function" && (await remote(question.request));
  }

  /** A peer that was opened anew gets back what the pages had set. */
  #restore({ state, opening }: Opened): void {
    const before = this.#opening === opening ? undefined : this.#state;
    this.#state = state;
    this.#opening = opening;
    this.#store.restore();
    this.#sync.restore(before);
    this.#presence.restore(before);
  }

  #end(error: Error): void {
    this.#fail(error);
    void this.close();
  }

  #warn(message: string): void {
    if (!this.#events.emit("warning", message)) showWarning(message);
  }

  #fail(error: unknown): void {
    const reported = error instanceof Error ? error : new Error(String(error));
    if (!this.#events.emit("error", reported)) showError(reported);
  }
}

/** The state of a peer that is closed for this page. */
function stopped(state: PeerState): PeerState {
  const { pendingCount } = state.sync;
  return { ...state, isActive: false, sync: { state: "stopped", pendingCount } };
}

/** For what no listener received. */
function showWarning(warning: unknown): void {
  // oxlint-disable-next-line no-console -- a browser shows warnings nowhere else.
  console.warn(warning);
}

function showError(error: Error): void {
  // oxlint-disable-next-line no-console -- a browser shows errors nowhere else.
  console.error(error);
}
