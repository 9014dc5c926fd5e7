/**
 * Sync gate: authenticates the `hello` of a peer and opens the app that it is for. As on the data
 * API, an address with many failed attempts is throttled (S3).
 */

import { type ByeCode, type Hello, PeerError } from "@bigpeer/protocol";
import type { AppUse } from "../apps/open-apps.ts";
import type { Authentication } from "../auth/authentication.ts";
import { ownerOf } from "../auth/credential.ts";
import type { AuthRegistry, Bearer } from "../auth/credentials.ts";
import { Refusal } from "../http/refusal.ts";

/** The registry and the apps that peers are served from. */
export interface SyncSource {
  readonly registry: AuthRegistry;
  readonly apps: {
    tryUse(id: string): AppUse | undefined;
    use(id: string): Promise<AppUse>;
  };
}

export interface SyncGateOptions {
  /** Undefined until the server is open, and from the start of closing on. */
  readonly source: () => SyncSource | undefined;
  readonly auth: Pick<
    Authentication,
    "credentials" | "noteFailure" | "noteError" | "noteReason" | "pass" | "accept"
  >;
}

/** Path and address of the request of a peer. */
export interface SyncPlace {
  /** From the path; undefined if `hello` or the credential names the app. */
  readonly appId: string | undefined;
  readonly remoteAddress: string;
}

/** A peer with a valid credential. Its app stays open until the use is released. */
export interface AuthenticatedPeer {
  readonly use: AppUse;
  readonly bearer: Bearer;
}

/** A refusal of a peer, as `bye` sends it. */
export class SyncRefusal extends Error {
  readonly code: ByeCode;
  readonly afterMs: number | undefined;

  constructor(code: ByeCode, message: string, afterMs?: number) {
    super(message);
    this.name = "SyncRefusal";
    this.code = code;
    this.afterMs = afterMs;
  }
}

/** One sentence for all failures: it must not reveal which apps there are (S3). */
const UNKNOWN = "the credential is not known, has expired, or is not for this app";

/** When to retry what the server could not do. */
const RETRY_MS = 5_000;

export class SyncGate {
  readonly #options: SyncGateOptions;
  #changes = 0;

  constructor(options: SyncGateOptions) {
    this.#options = options;
  }

  /** Call when apps or keys have changed. */
  registryChanged(): void {
    this.#changes++;
  }

  /**
   * Authenticates a peer, as of the moment when it resolves. Rejects with a SyncRefusal, or an
   * unexpected error.
   */
  async admit({ token, app }: Hello, place: SyncPlace): Promise<AuthenticatedPeer> {
    const appId = appMeant(app, place.appId);
    if (appId === null) throw this.#failed(place);
    for (;;) {
      const changes = this.#changes;
      const bearer = await this.#find(token, appId, place);
      if (bearer === undefined) throw this.#failed(place);
      const use = await this.#open(bearer.appId);
      if (changes === this.#changes) return { use, bearer };
      // The registry has changed meanwhile, so the result may differ.
      use.release();
    }
  }

  /** Like `find`, for the new token of a session. Undefined also if the token is refused. */
  async renew(token: string, appId: string, place: SyncPlace): Promise<Bearer | undefined> {
    try {
      const bearer = await this.#find(token, appId, place);
      if (bearer === undefined) this.#failed(place);
      return bearer;
    } catch (error) {
      if (error instanceof SyncRefusal && error.code === "unauthorized") return undefined;
      throw error;
    }
  }

  /**
   * The bearer of a token at this moment: changes during its verification count. Rejects with a
   * Refusal if that cannot be decided.
   */
  async find(
    token: string,
    appId: string | undefined,
    note?: (reason: string) => void,
  ): Promise<Bearer | undefined> {
    for (;;) {
      const changes = this.#changes;
      const { registry } = this.#source();
      const bearer = await this.#options.auth.credentials.find(registry, token, appId, note);
      if (changes === this.#changes) return bearer;
    }
  }

  /** Whether the registry knows an app now. */
  knows(appId: string): boolean {
    return this.#options.source()?.registry.apps.get(appId) !== undefined;
  }

  #source(): SyncSource {
    const source = this.#options.source();
    if (source === undefined) throw new SyncRefusal("closing", "the server is closing");
    return source;
  }

  async #find(
    token: string,
    appId: string | undefined,
    { remoteAddress }: SyncPlace,
  ): Promise<Bearer | undefined> {
    const { auth } = this.#options;
    try {
      const note = (reason: string): void => auth.noteReason(reason, { remoteAddress, appId });
      const bearer = await this.find(token, appId, note);
      if (bearer === undefined) return undefined;
      const owner = ownerOf(bearer.appId, bearer.credential);
      auth.pass(remoteAddress, owner);
      auth.accept(remoteAddress, owner);
      return bearer;
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      throw refusalOf(error, () => auth.noteError(error, remoteAddress));
    }
  }

  /** Counts a failed attempt. An address with many of them is sent a time to wait. */
  #failed({ remoteAddress }: SyncPlace): SyncRefusal {
    const note = (): void => this.#options.auth.noteFailure(remoteAddress);
    return refusalOf(new Refusal(401, UNKNOWN), note);
  }

  async #open(appId: string): Promise<AppUse> {
    const { apps } = this.#source();
    try {
      return apps.tryUse(appId) ?? (await apps.use(appId));
    } catch (error) {
      throw this.#openingRefusal(error, appId);
    }
  }

  #openingRefusal(error: unknown, appId: string): SyncRefusal {
    if (!(error instanceof PeerError)) {
      return new SyncRefusal("busy", "the app cannot be opened now", RETRY_MS);
    }
    if (error.code === "store.busy") return new SyncRefusal("busy", error.message, RETRY_MS);
    if (error.code !== "store.closed") {
      // The log has the reason, which may name a file.
      return new SyncRefusal("busy", `the app cannot be opened now (${error.code})`, RETRY_MS);
    }
    if (!this.knows(appId)) return new SyncRefusal("unauthorized", UNKNOWN);
    return new SyncRefusal("closing", "the server is closing", RETRY_MS);
  }
}

/** The app that path and `hello` name; null if they differ. */
function appMeant(
  inHello: string | undefined,
  inPath: string | undefined,
): string | undefined | null {
  if (inHello === undefined || inPath === undefined) return inPath ?? inHello;
  return inHello.toLowerCase() === inPath.toLowerCase() ? inPath : null;
}

/** `note` counts the attempt, and throws if there were too many. */
function refusalOf(error: Refusal, note: () => void): SyncRefusal {
  try {
    note();
  } catch (refusal) {
    if (!(refusal instanceof Refusal)) throw refusal;
    return new SyncRefusal("unauthorized", refusal.message, retryAfterMs(refusal));
  }
  if (error.status === 401) return new SyncRefusal("unauthorized", error.message);
  if (error.status === 429) {
    return new SyncRefusal("unauthorized", error.message, retryAfterMs(error));
  }
  return new SyncRefusal("busy", error.message, retryAfterMs(error) ?? RETRY_MS);
}

function retryAfterMs({ headers }: Refusal): number | undefined {
  const seconds = headers["retry-after"];
  return seconds === undefined ? undefined : Number(seconds) * 1000;
}
