/**
 * Console access: the console token, which a link carries to a browser, and the sessions of browsers
 * that were signed in.
 *
 * The registry has hashes of both, so a copy of the data folder opens nothing. A session belongs to
 * the token that opened it: it ends when the console token is renewed or the admin token changes.
 */

import { timingSafeEqual } from "node:crypto";
import type { Platform } from "@bigpeer/engine";
import type { StoredDocument, View } from "@bigpeer/engine/store";
import { encodeText, type Operation, type Value } from "@bigpeer/protocol";
import { CONSOLE_SESSION_MS, CONSOLE_SESSIONS_MAX } from "../limits/limits.ts";
import type { Author } from "./audit-log.ts";
import { CONSOLE_SESSIONS, CONSOLE_TOKENS } from "./registry-index.ts";
import { noChange, type RegistryStore } from "./registry-store.ts";

/** What a browser was signed in with. */
export type SignInToken = "console token" | "admin token";

export interface ConsoleSession {
  /** Identifies the session without opening it. */
  readonly id: string;
  readonly by: SignInToken;
  readonly createdAt: number;
  readonly expiresAt: number;
  readonly address: string;
}

/** A session as it was opened; its text is known to the browser alone. */
export interface OpenedSession extends ConsoleSession {
  readonly text: string;
}

interface StoredSession extends ConsoleSession {
  /** Hash of the token that opened it. */
  readonly tokenHash: Uint8Array;
}

const TOKEN_START = "bpc_";
const SECRET_SIZE = 32;

/** The only document of its collection. */
const TOKEN_ID = "token";

/** In the audit log. */
const TARGET = "console";

export class ConsoleAccess {
  readonly #store: RegistryStore;
  readonly #platform: Platform;

  constructor(store: RegistryStore, platform: Platform) {
    this.#store = store;
    this.#platform = platform;
  }

  /** Creates the text of a console token. It does not work until it is set. */
  draw(): string {
    return `${TOKEN_START}${this.#drawSecret()}`;
  }

  /** Makes this the console token, and ends all sessions. */
  setToken(text: string, author: Author): Promise<void> {
    const hash = this.#hash(text);
    return this.#store.change(author, (view, nowMs) => ({
      operations: [
        {
          kind: "insert",
          collection: CONSOLE_TOKENS,
          id: TOKEN_ID,
          fields: { hash, createdAt: nowMs },
          clean: true,
        },
        ...[...view.scanIds(CONSOLE_SESSIONS)].map(evictionOf),
      ],
      actions: [{ action: "console.renewToken", target: TARGET }],
      result: undefined,
    }));
  }

  /** Whether this is the console token. */
  isToken(text: string): boolean {
    const hash = this.#store.read(tokenHashOf);
    return hash !== undefined && timingSafeEqual(hash, this.#hash(text));
  }

  /** Opens a session for a browser that has shown a token, which must have been checked. */
  async signIn(token: string, by: SignInToken, author: Author): Promise<OpenedSession> {
    const text = this.#drawSecret();
    const tokenHash = this.#hash(token);
    const session = await this.#store.change(author, (view, nowMs) => {
      const opened: StoredSession = {
        id: this.#idOf(text),
        by,
        createdAt: nowMs,
        expiresAt: nowMs + CONSOLE_SESSION_MS,
        address: author.address ?? "",
        tokenHash,
      };
      const surplus = surplusOf(view, nowMs);
      return {
        operations: [insertionOf(opened), ...surplus.map(({ id }) => evictionOf(id))],
        actions: [{ action: "console.signIn", target: TARGET, detail: by }],
        result: opened,
      };
    });
    return { ...shownOf(session), text };
  }

  /** The session with this text; undefined when it is unknown, expired or ended. */
  find(text: string, adminToken: string | undefined): ConsoleSession | undefined {
    const id = this.#idOf(text);
    const found = this.#store.read((view) => {
      const document = view.get(CONSOLE_SESSIONS, id);
      return { session: document && sessionOf(document), tokenHash: tokenHashOf(view) };
    });
    if (found.session === undefined || this.#platform.now() >= found.session.expiresAt) {
      return undefined;
    }
    const isOfAdmin = found.session.by === "admin token";
    const adminHash = adminToken === undefined ? undefined : this.#hash(adminToken);
    const hash = isOfAdmin ? adminHash : found.tokenHash;
    if (hash === undefined || !timingSafeEqual(hash, found.session.tokenHash)) return undefined;
    return shownOf(found.session);
  }

  /** Sessions that have not expired, the newest first. */
  list(): readonly ConsoleSession[] {
    const now = this.#platform.now();
    return this.#store
      .read(sessionsIn)
      .filter(({ expiresAt }) => expiresAt > now)
      .map(shownOf)
      .toSorted((a, b) => b.createdAt - a.createdAt);
  }

  /** Ends a session. Does nothing if there is none. */
  signOut(id: string, author: Author): Promise<void> {
    return this.#store.change(author, (view) => {
      if (view.get(CONSOLE_SESSIONS, id) === undefined) return noChange(undefined);
      return {
        operations: [evictionOf(id)],
        actions: [{ action: "console.signOut", target: TARGET }],
        result: undefined,
      };
    });
  }

  #drawSecret(): string {
    return Buffer.from(this.#platform.random(SECRET_SIZE)).toString("base64url");
  }

  #idOf(text: string): string {
    return Buffer.from(this.#hash(text)).toString("hex");
  }

  #hash(text: string): Uint8Array {
    return this.#platform.sha256(encodeText(text));
  }
}

/** Expired sessions, and the oldest ones that leave no room for another. */
function surplusOf(view: View, nowMs: number): StoredSession[] {
  const all = sessionsIn(view).toSorted((a, b) => b.createdAt - a.createdAt);
  const living = all.filter(({ expiresAt }) => expiresAt > nowMs);
  const expired = all.filter(({ expiresAt }) => expiresAt <= nowMs);
  return [...expired, ...living.slice(CONSOLE_SESSIONS_MAX - 1)];
}

function sessionsIn(view: View): StoredSession[] {
  return [...view.scan(CONSOLE_SESSIONS)].flatMap((document) => sessionOf(document) ?? []);
}

function tokenHashOf(view: View): Uint8Array | undefined {
  const { hash } = view.get(CONSOLE_TOKENS, TOKEN_ID)?.fields ?? {};
  return hash instanceof Uint8Array ? hash : undefined;
}

function insertionOf({ id, ...fields }: StoredSession): Operation {
  return { kind: "insert", collection: CONSOLE_SESSIONS, id, fields, clean: true };
}

/** No other replica has a copy, so no tombstone is needed. */
function evictionOf(id: Value): Operation {
  return { kind: "evict", collection: CONSOLE_SESSIONS, id };
}

/** Undefined for a document that is no session: it opens nothing. */
function sessionOf({ id, fields }: StoredDocument): StoredSession | undefined {
  const { by, createdAt, expiresAt, address, tokenHash } = fields;
  const isKnown = by === "console token" || by === "admin token";
  if (typeof id !== "string" || !isKnown || !(tokenHash instanceof Uint8Array)) return undefined;
  if (typeof createdAt !== "number" || typeof expiresAt !== "number") return undefined;
  return {
    id,
    by,
    createdAt,
    expiresAt,
    address: typeof address === "string" ? address : "",
    tokenHash,
  };
}

function shownOf({ id, by, createdAt, expiresAt, address }: StoredSession): ConsoleSession {
  return { id, by, createdAt, expiresAt, address };
}
