/**
 * Worker host: runs the peer of an app for all its pages. The peer opens with the first page and
 * closes after the last one.
 */

import { PeerError } from "@bigpeer/protocol";
import { openMemory } from "../../host/memory-place.ts";
import type { PeerHost, PeerPlace, PlaceOptions } from "../../host/peer-host.ts";
import {
  type CheckedOptions,
  checkMetadata,
  type Login,
  type RemoteStatement,
} from "../../options.ts";
import { Peer } from "../../peer.ts";
import { EVENT_NAMES, type PeerEvents } from "../../peer-events.ts";
import { VERSION } from "../../version.ts";
import { lazyParts } from "../lazy-code.ts";
import type { PageOptions } from "../messages.ts";
import { type ConnectionEnd, type IndexedDb, PagedMemory } from "../storage/index.ts";
import { openStoragePlace } from "../storage-place.ts";
import { webHost } from "../web-host.ts";
import type { AttachedPage } from "./attached-page.ts";
import { type Contender, type DatabaseOwner, ownDatabase } from "./database-owner.ts";
import { Moved } from "./moved.ts";
import { SilentPage } from "./page-questions.ts";

/** The peer that all pages share. */
export interface OpenPeer {
  readonly peer: Peer;
  /** Random, and new each time it is opened. */
  readonly id: string;
  /** Warnings that concern each page. */
  readonly warnings: readonly string[];
}

interface Running extends OpenPeer {
  readonly options: PageOptions;
  readonly owner: DatabaseOwner | undefined;
  /** The page whose credential is in use. */
  credentialOf: PageOptions;
}

/** More documents than this give each page a warning: the worker holds all of them in memory. */
const DOCUMENTS_MAX = 50_000;

const DELETED = "the database of this peer was deleted: it begins again, and is empty";

export class WorkerHost {
  /** Another one means that the worker was started again and knows nothing. */
  readonly instance: string = crypto.randomUUID();
  /** The script of the worker; undefined if the engine runs in a page. */
  readonly #url: string | undefined;
  readonly #documentsMax: number;
  #host: PeerHost | undefined;
  readonly #pages = new Set<AttachedPage>();
  #running: Running | undefined;
  /** Opening and closing happen one after the other. */
  #turn: Promise<unknown> = Promise.resolve();

  constructor(url: string | undefined, documentsMax: number = DOCUMENTS_MAX) {
    this.#url = url;
    this.#documentsMax = documentsMax;
  }

  /** Opens the peer for a page, or gives it the one that is open. */
  attach(page: AttachedPage): Promise<OpenPeer> {
    return this.#inTurn(async () => {
      this.#pages.add(page);
      try {
        this.#running ??= await this.#open(page.options);
        this.#adopt(page.options, this.#running);
        return { ...this.#running, warnings: this.#warningsOf(this.#running) };
      } catch (error) {
        this.#pages.delete(page);
        throw error;
      }
    });
  }

  /** A page is gone. Resolves when the peer is closed, if it was the last one. */
  detach(page: AttachedPage): Promise<void> {
    this.#pages.delete(page);
    return this.#inTurn(async () => {
      // It may have waited for its turn to attach.
      this.#pages.delete(page);
      if (this.#pages.size === 0) await this.#close();
    });
  }

  /** Deletes the documents, for all pages. The page that asks for it gets an answer, and then ends. */
  erase(asker: AttachedPage, isForced: boolean): Promise<void> {
    return this.#inTurn(async () => {
      const peer = this.#running?.peer;
      if (peer === undefined) throw new PeerError("store.closed", "the peer is closed");
      try {
        await peer.erase({ force: isForced });
      } catch (error) {
        // It is closed before its documents are deleted.
        if (peer.isClosed) await this.#handOver(restart);
        throw error;
      }
      await this.#close();
      for (const page of this.#pages) if (page !== asker) page.end();
      this.#pages.clear();
    });
  }

  async #open(options: PageOptions): Promise<Running> {
    const owner = options.isInMemory ? undefined : await this.#own(options);
    try {
      this.#host ??= webHost(lazyParts(options), options);
      const host = this.#host;
      const warnings: string[] = [];
      const peer = await Peer.open(this.#checked(options), host, (place) =>
        this.#openPlace(options, { ...place, onWarning: (text) => void warnings.push(text) }),
      );
      this.#listen(peer);
      const id = crypto.randomUUID();
      return { peer, id, warnings, options, owner, credentialOf: options };
    } catch (error) {
      owner?.release();
      throw error;
    }
  }

  #openPlace(options: PageOptions, place: PlaceOptions): Promise<PeerPlace> {
    if (options.isInMemory) return openMemory(new PagedMemory(), place);
    const db = globalThis as unknown as IndexedDb;
    const onEnd = (end: ConnectionEnd): void => void this.#restart(end);
    return openStoragePlace({ ...place, database: databaseOf(options), db, onEnd });
  }

  async #own(options: PageOptions): Promise<DatabaseOwner> {
    const ownership = await ownDatabase({
      database: databaseOf(options),
      self: { url: this.#url, version: VERSION },
      onStepDown: (next) => this.#stepDown(next),
    });
    if (ownership.kind === "owned") return ownership.owner;
    throw new Moved(ownership.url, ownership.protocol);
  }

  /** The second page brings its own options: those that concern all pages must fit. */
  #adopt(page: PageOptions, running: Running): void {
    const { peer, options, credentialOf } = running;
    if (page.url !== options.url) {
      const message = `expected the url of the other pages, ${options.url}, found ${page.url}`;
      throw new PeerError("config.invalid", message);
    }
    // A page that only connects again brings no new credential.
    if (page.openedAtMs < credentialOf.openedAtMs) return;
    running.credentialOf = page;
    if (page.token === credentialOf.token) return;
    Peer.useCredential(peer, this.#credentialOf(page));
  }

  /** What the place of the documents said when it was opened; and whether there are too many now. */
  #warningsOf({ peer, warnings }: Running): readonly string[] {
    const count = Peer.documentCountOf(peer);
    if (count <= this.#documentsMax) return warnings;
    const message = `the browser holds ${count} documents in memory: subscribe to fewer, or EVICT some`;
    return [...warnings, message];
  }

  #checked(options: PageOptions): CheckedOptions {
    const { url: baseUrl, metadata, remote, ...others } = options;
    return {
      ...others,
      baseUrl,
      credential: this.#credentialOf(options),
      metadata: checkMetadata(metadata),
      remote: remote === "ask" ? (request) => this.#allows(request) : remote,
    };
  }

  #credentialOf({ token }: PageOptions): CheckedOptions["credential"] {
    return token === undefined
      ? { kind: "login", login: () => this.#login() }
      : { kind: "token", token };
  }

  #login(): Promise<Login> {
    const pages = this.#newest(({ token }) => token === undefined);
    return askFirst(pages, (page) => page.ask({ kind: "login" }));
  }

  #allows(request: RemoteStatement): Promise<boolean> {
    const pages = this.#newest(({ remote }) => remote === "ask");
    return askFirst(pages, (page) => page.ask({ kind: "remote", request }));
  }

  /** The pages with such options. The one that was opened last comes first. */
  #newest(fits: (options: PageOptions) => boolean): AttachedPage[] {
    return [...this.#pages]
      .filter(({ options }) => fits(options))
      .toSorted((a, b) => b.options.openedAtMs - a.options.openedAtMs);
  }

  #listen(peer: Peer): void {
    for (const name of EVENT_NAMES) {
      peer.on(name, (details: PeerEvents[typeof name]) => {
        for (const page of this.#pages) page.emit(name, details);
      });
    }
  }

  /** Closes the peer; its pages go to the next worker. */
  #stepDown({ url, protocol }: Contender): Promise<void> {
    return this.#inTurn(() => this.#handOver((page) => page.move(url, protocol)));
  }

  /** The database is gone, or of a newer format: all pages open the peer again. */
  #restart(end: ConnectionEnd): Promise<void> {
    return this.#inTurn(async () => {
      const isDeleted = end === "deleted";
      if (isDeleted) for (const page of this.#pages) page.emit("warning", DELETED);
      await this.#handOver(restart, isDeleted ? new PeerError("store.closed", DELETED) : undefined);
    });
  }

  /** Closes the peer; its pages get another one. Open transactions of theirs end with `error`. */
  async #handOver(next: (page: AttachedPage) => void, error = opensAgain()): Promise<void> {
    for (const page of this.#pages) page.suspend(error);
    // What the browser cannot write now is no reason to leave the pages without a peer.
    await this.#close().catch(() => {});
    for (const page of this.#pages) next(page);
    this.#pages.clear();
  }

  async #close(): Promise<void> {
    const running = this.#running;
    this.#running = undefined;
    try {
      await running?.peer.close();
    } finally {
      running?.owner?.release();
    }
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#turn.then(work);
    this.#turn = result.catch(() => {});
    return result;
  }
}

const restart = (page: AttachedPage): void => page.restart();

/** The error of a transaction whose page goes to the next peer. */
function opensAgain(): PeerError {
  const message =
    "the peer is opened again; nothing of the transaction was applied: begin it again";
  return new PeerError("store.busy", message);
}

/** Asks one page after the other, until one answers: some may be frozen, or leave. */
async function askFirst<T>(
  pages: readonly AttachedPage[],
  ask: (page: AttachedPage) => Promise<T>,
): Promise<T> {
  let last: unknown = new Error("no page of the app is open that could be asked");
  for (const page of pages) {
    try {
      return await ask(page);
    } catch (error) {
      last = error;
      if (!page.isClosed && !(error instanceof SilentPage)) throw error;
    }
  }
  throw last;
}

/** The name of the database, and of the lock on it. */
function databaseOf({ appId, name }: PageOptions): string {
  return `bigpeer:${appId}:${name}`;
}
