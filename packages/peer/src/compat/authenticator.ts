/**
 * Authenticator: the logins of an instance.
 *
 * The peer asks it for a session each time that it needs one. It gives the session of the last
 * `login` once; for the next one it calls the expiration handler, which is to call `login`.
 */

import type { SessionDetails } from "../options.ts";
import type { AnyValue } from "./any-value.ts";
import { asDittoErrors } from "./ditto-error.ts";
import type { Instance } from "./instance.ts";
import { Logger } from "./logger.ts";
import { type LoginResult, login } from "./login.ts";
import { Observer } from "./observer.ts";

export type { LoginResult } from "./login.ts";

export type AuthenticationStatus = {
  isAuthenticated: boolean;
  userID: string | null;
};

/** It is called with 0 for the first login, then before a session ends. It should call `login`. */
export type AuthenticationExpirationHandler<D extends Instance = Instance> = (
  ditto: D,
  timeUntilExpiration: number,
) => AnyValue;

const NONE: AuthenticationStatus = { isAuthenticated: false, userID: null };

/** The provider of the first start of a Big Peer. */
const DEVELOPMENT_PROVIDER = "development";

export class Authenticator<D extends Instance = Instance> {
  /** Whether there is a server to log in to. */
  readonly loginSupported: boolean;
  readonly #ditto: D;
  readonly #observers = new Map<Observer, (status: AuthenticationStatus) => void>();
  #handler: AuthenticationExpirationHandler<D> | null = null;
  /** The handler while it runs. */
  #handling: Promise<void> | undefined;
  /** The session of the last login until the peer has taken it. */
  #given: SessionDetails | undefined;
  #status: AuthenticationStatus = NONE;
  #expiresAt: number | undefined;
  /** Whether the peer waits for a session. */
  #askedCount = 0;

  constructor(ditto: D) {
    this.#ditto = ditto;
    this.loginSupported = ditto.config.connect.mode === "server";
    if (!this.loginSupported) this.#status = { isAuthenticated: true, userID: "" };
  }

  static get DEVELOPMENT_PROVIDER(): string {
    return DEVELOPMENT_PROVIDER;
  }

  get expirationHandler(): AuthenticationExpirationHandler<D> | null {
    return this.#handler;
  }

  /** Sets the handler, and calls it if there is no login yet. */
  async setExpirationHandler(handler: AuthenticationExpirationHandler<D> | null): Promise<void> {
    this.#ditto.checkOpen();
    if (handler !== null && typeof handler !== "function") {
      throw new TypeError(`expected a function as the expiration handler, found ${typeof handler}`);
    }
    this.#handler = handler;
    if (handler !== null && this.loginSupported && !this.#status.isAuthenticated) {
      void this.#handle();
    }
  }

  get status(): AuthenticationStatus {
    return { ...this.#status };
  }

  /**
   * Logs in at the server. `provider` is the name of an auth provider of the app, or
   * `Authenticator.DEVELOPMENT_PROVIDER`. It resolves also if the login fails: see `error`.
   */
  async login(token: string, provider: string): Promise<LoginResult> {
    this.#ditto.checkOpen();
    for (const [name, value] of Object.entries({ token, provider })) {
      if (typeof value !== "string") throw new TypeError(`expected a text as ${name}`);
    }
    const { url, appId } = this.#ditto.server;
    const { session, clientInfo, error } = await login({ url, appId, token, provider });
    if (session !== undefined) await this.#accept(session);
    else Logger.warning(error?.message ?? "the login failed");
    return { clientInfo, error };
  }

  /**
   * Stops sync and forgets the session, then calls `cleanupFn`. Documents stay on the device unless
   * it removes them.
   */
  async logout(cleanupFn?: (ditto: D) => void): Promise<void> {
    this.#ditto.checkOpen();
    this.#given = undefined;
    this.#ditto.sync.stop();
    const peer = await this.#ditto.opening.opened;
    await asDittoErrors(() => peer.auth.logout());
    this.#setStatus(NONE);
    cleanupFn?.(this.#ditto);
  }

  /** Calls a function each time the status changes. */
  observeStatus(callback: (authenticationStatus: AuthenticationStatus) => void): Observer {
    this.#ditto.checkOpen();
    const observer = new Observer(() => this.#observers.delete(observer));
    this.#observers.set(observer, callback);
    return observer;
  }

  /** Ends all observers. */
  close(): void {
    for (const observer of this.#observers.keys()) observer.stop();
  }

  /** A session for the peer. Rejects if there is no login. */
  async session(): Promise<SessionDetails> {
    this.#askedCount++;
    try {
      await this.#handling;
      if (this.#given === undefined) await this.#handle();
      const session = this.#given;
      this.#given = undefined;
      if (session !== undefined) return session;
    } finally {
      this.#askedCount--;
    }
    this.#setStatus(NONE);
    throw new Error("expected a login by the expiration handler, found none that succeeded");
  }

  #handle(): Promise<void> {
    this.#handling ??= this.#callHandler().finally(() => {
      this.#handling = undefined;
    });
    return this.#handling;
  }

  async #callHandler(): Promise<void> {
    const leftMs = Math.max(0, (this.#expiresAt ?? 0) - Date.now());
    try {
      await this.#handler?.(this.#ditto, Math.floor(leftMs / 1000));
    } catch (error) {
      Logger.error(`the expiration handler threw: ${String(error)}`);
    }
  }

  async #accept(session: SessionDetails): Promise<void> {
    this.#given = session;
    const end = Date.parse(session.accessExpiry ?? "");
    this.#expiresAt = Number.isNaN(end) ? undefined : end;
    this.#setStatus({ isAuthenticated: true, userID: session.userId ?? null });
    const { peer } = this.#ditto.opening;
    // The peer takes it by itself when it asks for one, or when it next connects.
    if (peer === undefined || this.#askedCount > 0 || !peer.sync.isActive) return;
    await peer.auth.logout();
    if (this.#ditto.sync.isActive) peer.sync.start();
  }

  #setStatus(status: AuthenticationStatus): void {
    const { isAuthenticated, userID } = this.#status;
    this.#status = status;
    if (isAuthenticated === status.isAuthenticated && userID === status.userID) return;
    for (const callback of this.#observers.values()) callback({ ...status });
  }
}
