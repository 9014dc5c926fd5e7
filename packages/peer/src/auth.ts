/**
 * Auth: as whom a peer speaks with its server.
 *
 * The session of a login is renewed before it ends, while the peer is connected. It is kept in memory
 * alone: a program that starts again logs in again.
 */

import { PeerError } from "@bigpeer/protocol";
import { kindOf } from "./argument-check.ts";
import type { SessionToken } from "./session-token.ts";

export interface AuthStatus {
  /** Whether the server has taken what this peer shows it, and has not refused it since. */
  readonly isAuthenticated: boolean;
  /** Of a login: whom the provider has named. */
  readonly userId?: string;
  /** Of a login: when its session ends, milliseconds since 1970 by the clock of the server. */
  readonly expiresAt?: number;
}

export interface AuthOptions<Subject> {
  readonly token: SessionToken;
  /** What a cleanup is given. */
  readonly subject: () => Subject;
  readonly stop: () => Promise<void>;
  readonly checkOpen: () => void;
}

/** What an app has of it. */
export type PeerAuth<Subject> = Pick<Auth<Subject>, "status" | "logout">;

export class Auth<Subject> {
  readonly #options: AuthOptions<Subject>;
  /** Of a credential that needs no login. */
  #isAccepted = false;

  constructor(options: AuthOptions<Subject>) {
    this.#options = options;
  }

  get status(): AuthStatus {
    const { token } = this.#options;
    if (!token.isLogin) return { isAuthenticated: this.#isAccepted };
    const { session } = token;
    if (session === undefined) return { isAuthenticated: false };
    const { userId, expiresAt } = session;
    return {
      isAuthenticated: true,
      ...(userId !== undefined && { userId }),
      ...(expiresAt !== undefined && { expiresAt }),
    };
  }

  /**
   * Says goodbye and forgets the session; then calls `cleanup`, which decides what becomes of the
   * documents: without it they stay. `sync.start` logs in anew.
   */
  async logout(cleanup?: (peer: Subject) => unknown): Promise<void> {
    const { token, subject, stop, checkOpen } = this.#options;
    checkOpen();
    if (cleanup !== undefined && typeof cleanup !== "function") {
      const message = `expected a function as the cleanup of a logout, found ${kindOf(cleanup)}`;
      throw new PeerError("config.invalid", message);
    }
    // Before anybody is told that the connection is over: whoever starts it again logs in anew.
    this.forget();
    await stop();
    // A connection that was being made meanwhile may have brought one.
    token.forget();
    await cleanup?.(subject());
  }

  /** The server has taken it. */
  accept(): void {
    this.#isAccepted = true;
  }

  /** The server does not take it any more. */
  forget(): void {
    this.#isAccepted = false;
    this.#options.token.forget();
  }
}
