/**
 * Auth: the authentication state of a peer, and its logout.
 *
 * While the peer is connected, it renews the session of a login before the session ends. It keeps
 * the session in memory alone: a program that starts again logs in again.
 */

import { checkCleanup } from "./argument-check.ts";
import type { SessionToken } from "./session-token.ts";

/**
 * The authentication state of a peer: whether the server accepts its credential, and as which user.
 *
 * @example
 * const { isAuthenticated, userId } = peer.auth.status;
 * console.log(isAuthenticated, userId); // false undefined
 */
export interface AuthStatus {
  /** Whether the server has accepted the credential of this peer, and has not refused it since. */
  readonly isAuthenticated: boolean;
  /** Of a login: the user that the provider named. */
  readonly userId?: string;
  /** Of a login: when its session ends, in milliseconds since 1970 by the server's clock. */
  readonly expiresAt?: number;
}

export interface AuthOptions<Subject> {
  readonly token: SessionToken;
  /** The argument of `cleanup`. */
  readonly subject: () => Subject;
  readonly stop: () => Promise<void>;
  readonly checkOpen: () => void;
}

/**
 * `peer.auth`: the authentication of a peer, and its logout.
 *
 * @example
 * // Logs out, and removes the tasks of this user from the device.
 * await peer.auth.logout((self) => self.store.execute("EVICT FROM tasks"));
 * console.log(peer.auth.status); // { isAuthenticated: false }
 */
export type PeerAuth<Subject> = Pick<Auth<Subject>, "status" | "logout">;

export class Auth<Subject> {
  readonly #options: AuthOptions<Subject>;
  /** Whether the server has accepted a credential that needs no login. */
  #isAccepted = false;

  constructor(options: AuthOptions<Subject>) {
    this.#options = options;
  }

  /** The current state: accepted or not, and for a login the user and the end of the session. */
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
   * Closes the connection and forgets the session, then calls `cleanup`. Documents stay on the
   * device unless `cleanup` removes them. The next `sync.start` logs in again, perhaps as another
   * user, who then uploads the writes that still wait.
   *
   * @param cleanup - Receives the peer after it has disconnected, for example to EVICT documents.
   * @throws `config.invalid`: `cleanup` is not a function.
   * @throws `store.closed`: the peer is closed.
   */
  async logout(cleanup?: (peer: Subject) => unknown): Promise<void> {
    const { token, subject, stop, checkOpen } = this.#options;
    checkOpen();
    checkCleanup(cleanup);
    // Before listeners learn that the connection ended: a start in a listener must log in again.
    this.forget();
    await stop();
    // A connection that was being made meanwhile may have brought a session.
    token.forget();
    await cleanup?.(subject());
  }

  /** The server has accepted the credential. */
  accept(): void {
    this.#isAccepted = true;
  }

  /** The server no longer accepts the credential. */
  forget(): void {
    this.#isAccepted = false;
    this.#options.token.forget();
  }
}
