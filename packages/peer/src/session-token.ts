/**
 * Session token: the credential that a peer sends to its server. That is the token of the app, or
 * the session of a login, which is used until half of its time is over or the server refuses it.
 */

import { isObject, PeerError, type Value } from "@bigpeer/protocol";
import type { PeerHost } from "./host/peer-host.ts";
import type { CheckedOptions, Login, LoginDetails, SessionDetails } from "./options.ts";

const LOGIN_MS_MAX = 15_000;

/** Clocks that differ by less count as equal: a server sends its own in whole seconds. */
const CLOCK_MS = 2000;

/**
 * A login that failed before the server decided, for a reason to report: the function of the app
 * threw, or the address is wrong. The peer retries, as after a lost connection.
 */
export class LoginFailure extends Error {
  override readonly name = "LoginFailure";
}

export interface Session {
  readonly token: string;
  /** The user that the provider named. */
  readonly userId: string | undefined;
  /** When it ends, by the server's clock; undefined if the server did not say. */
  readonly expiresAt: number | undefined;
  /** By the clock of this machine. */
  readonly renewAtMs: number;
  readonly endMs: number;
}

export class SessionToken {
  #options: Pick<CheckedOptions, "appId" | "baseUrl" | "credential">;
  readonly #host: Pick<PeerHost, "faultOf">;
  #session: Session | undefined;
  /** Counts calls of `forget`: the session of a login that began before one is not kept. */
  #forgotten = 0;

  constructor(
    options: Pick<CheckedOptions, "appId" | "baseUrl" | "credential">,
    host: Pick<PeerHost, "faultOf">,
  ) {
    this.#options = options;
    this.#host = host;
  }

  get isLogin(): boolean {
    return this.#options.credential.kind === "login";
  }

  /** Names the credential: another user has another name. */
  get name(): string {
    const { credential } = this.#options;
    return credential.kind === "token"
      ? credential.token
      : (this.#session?.userId ?? this.#session?.token ?? "");
  }

  /** The session of the last login, unless it has ended. */
  get session(): Session | undefined {
    const session = this.#session;
    return session === undefined || Date.now() >= session.endMs ? undefined : session;
  }

  /** Rejects with the failure of the login: a PeerError if another try would fail, too. */
  async get(): Promise<string> {
    const { credential } = this.#options;
    if (credential.kind === "token") return credential.token;
    const { session } = this;
    if (session !== undefined && Date.now() < session.renewAtMs) return session.token;
    return this.#login(credential.login);
  }

  /** A new token, before the one in use ends. Rejects like `get`. */
  async renew(): Promise<string> {
    const { credential } = this.#options;
    return credential.kind === "token" ? credential.token : this.#login(credential.login);
  }

  /** The next connection uses this credential. */
  replace(credential: CheckedOptions["credential"]): void {
    this.#options = { ...this.#options, credential };
    this.forget();
  }

  /** Forgets the session: the next token needs a new login. */
  forget(): void {
    this.#session = undefined;
    this.#forgotten++;
  }

  async #login(login: () => Login | Promise<Login>): Promise<string> {
    const forgotten = this.#forgotten;
    const given = await detailsFrom(login);
    const session = sessionOf(isSession(given) ? given : await this.#ask(checkDetails(given)));
    if (forgotten === this.#forgotten) this.#session = session;
    return session.token;
  }

  async #ask({ provider, token }: LoginDetails): Promise<Answer> {
    const { appId, baseUrl } = this.#options;
    const response = await fetch(`${baseUrl}/${appId}/auth/login`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ provider, token }),
      signal: AbortSignal.timeout(LOGIN_MS_MAX),
    }).catch((error: unknown) => this.#fetchFailed(error, baseUrl));
    const answer = await readAnswer(response);
    if (!response.ok) {
      // The data API sends a message; the management API, reached by mistake, a detail.
      const said = answer["message"] ?? answer["detail"];
      const message = typeof said === "string" ? said : "no reason given";
      const described = `(${response.status}): ${message}`;
      if (isTemporary(response.status)) throw new Error(`the login failed ${described}`);
      throw new PeerError("permission.denied", `the login was refused ${described}`);
    }
    return { ...answer, date: response.headers.get("date") };
  }

  /** The error of `fetch` says nothing; its cause does. */
  #fetchFailed(error: unknown, url: string): never {
    const { cause } = error as { cause?: unknown };
    const failure = cause instanceof Error && cause.message !== "" ? cause : error;
    if (!(failure instanceof Error)) throw new Error(`the login failed: ${String(failure)}`);
    const { reason, isLasting } = this.#host.faultOf(failure, url);
    const message = `the login failed: ${reason}`;
    throw isLasting
      ? new LoginFailure(message, { cause: error })
      : new Error(message, { cause: error });
  }
}

/** What the server or the app gave as a session. */
type Answer = Readonly<Partial<Record<keyof SessionDetails, Value | undefined>>>;

function sessionOf({ accessToken, accessExpiry, userId, date }: Answer): Session {
  if (typeof accessToken !== "string") {
    throw new PeerError("permission.denied", "expected an accessToken from the login");
  }
  return {
    token: accessToken,
    userId: typeof userId === "string" ? userId : undefined,
    ...timesOf(accessExpiry, typeof date === "string" ? Date.parse(date) : NaN),
  };
}

async function detailsFrom(login: () => Login | Promise<Login>): Promise<unknown> {
  try {
    return await login();
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    throw new LoginFailure(`failed to log in: the login function threw: ${message}`, {
      cause: error,
    });
  }
}

function isSession(given: unknown): given is SessionDetails {
  return (given as SessionDetails | undefined)?.accessToken !== undefined;
}

function checkDetails(details: unknown): LoginDetails {
  const { provider, token } = (details ?? {}) as { provider?: unknown; token?: unknown };
  if (typeof provider === "string" && typeof token === "string") return { provider, token };
  const message = "expected login to give { provider, token }, two texts";
  throw new PeerError("config.invalid", message);
}

/** Too many requests, or an error of the server: neither is about the token. */
function isTemporary(status: number): boolean {
  return status === 429 || status >= 500;
}

async function readAnswer(response: Response): Promise<{ readonly [key: string]: Value }> {
  const answer = (await response.json().catch(() => null)) as Value;
  return isObject(answer) ? answer : {};
}

/** How long a session lasts, by the server's clock: that of this machine may be wrong. */
function timesOf(
  expiry: Value | undefined,
  serverMs: number,
): Pick<Session, "expiresAt" | "renewAtMs" | "endMs"> {
  const now = Date.now();
  const end = typeof expiry === "string" ? Date.parse(expiry) : NaN;
  // Without an end it is used for one connection only.
  if (Number.isNaN(end)) return { expiresAt: undefined, renewAtMs: now, endMs: Infinity };
  const isOff = Math.abs(serverMs - now) > CLOCK_MS;
  const leftMs = end - (isOff ? serverMs : now);
  return { expiresAt: end, renewAtMs: now + leftMs / 2, endMs: now + leftMs };
}
