/**
 * Session token: what a peer shows its server. Either what the app gave, or the session that a login
 * gives, which is used until half of its time is over, or until the server does not take it.
 */

import { isObject, PeerError, type Value } from "@bigpeer/protocol";
import type { CheckedOptions, LoginDetails } from "./options.ts";

const LOGIN_MS_MAX = 15_000;

interface Session {
  readonly token: string;
  /** By the clock of this machine. */
  readonly renewAtMs: number;
}

export class SessionToken {
  readonly #options: Pick<CheckedOptions, "appId" | "baseUrl" | "credential">;
  #session: Session | undefined;

  constructor(options: Pick<CheckedOptions, "appId" | "baseUrl" | "credential">) {
    this.#options = options;
  }

  /** Rejects with what the login failed with: a PeerError, when another try would fail, too. */
  async get(): Promise<string> {
    const { credential } = this.#options;
    if (credential.kind === "token") return credential.token;
    if (this.#session === undefined || Date.now() >= this.#session.renewAtMs) {
      this.#session = await this.#login(checkDetails(await credential.login()));
    }
    return this.#session.token;
  }

  /** The server does not take it any more: the next one is asked for. */
  forget(): void {
    this.#session = undefined;
  }

  async #login({ provider, token }: LoginDetails): Promise<Session> {
    const { appId, baseUrl } = this.#options;
    const response = await fetch(`${baseUrl}/${appId}/auth/login`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ provider, token }),
      signal: AbortSignal.timeout(LOGIN_MS_MAX),
    }).catch(fetchFailed);
    const answer = await readAnswer(response);
    if (!response.ok) {
      const message = typeof answer["message"] === "string" ? answer["message"] : "no reason given";
      const told = `(${response.status}): ${message}`;
      if (isTemporary(response.status)) throw new Error(`the login failed ${told}`);
      throw new PeerError("permission.denied", `the login was refused ${told}`);
    }
    const { accessToken, accessExpiry } = answer;
    if (typeof accessToken !== "string") {
      throw new PeerError("permission.denied", "expected an accessToken from the login");
    }
    return { token: accessToken, renewAtMs: halfWay(accessExpiry) };
  }
}

function checkDetails(details: unknown): LoginDetails {
  const { provider, token } = (details ?? {}) as { provider?: unknown; token?: unknown };
  if (typeof provider === "string" && typeof token === "string") return { provider, token };
  const message = "expected login to give { provider, token }, two texts";
  throw new PeerError("config.invalid", message);
}

/** What `fetch` rejects with says nothing; its cause does. */
function fetchFailed(error: unknown): never {
  const { cause } = error as { cause?: unknown };
  const reason = cause instanceof Error && cause.message !== "" ? cause : error;
  const message = reason instanceof Error ? reason.message : String(reason);
  throw new Error(`the login failed: ${message}`, { cause: error });
}

/** Too many at once, or a fault of the server: nothing is said about the token. */
function isTemporary(status: number): boolean {
  return status === 429 || status >= 500;
}

async function readAnswer(response: Response): Promise<{ readonly [key: string]: Value }> {
  const answer = (await response.json().catch(() => null)) as Value;
  return isObject(answer) ? answer : {};
}

/** Half of the time that is left; a clock that is wrong makes the next login come early or late. */
function halfWay(expiry: Value | undefined): number {
  const end = typeof expiry === "string" ? Date.parse(expiry) : NaN;
  const now = Date.now();
  return Number.isNaN(end) ? now : now + (end - now) / 2;
}
