/**
 * Management gate: decides which requests may manage the server.
 *
 * A browser that is signed in to the console sends the cookie of its session, which counts as the
 * admin (M52). With an admin token, every other request needs it (M4). Without one, the listener
 * must be reachable from this machine only, and the headers Host and Origin must name this machine
 * as well (M3). Otherwise any web page could make a browser on this machine manage the server.
 */

import { timingSafeEqual } from "node:crypto";
import type { Platform } from "@bigpeer/engine";
import { encodeText } from "@bigpeer/protocol";
import { isLoopbackAuthority } from "../address/loopback.ts";
import type { FailedCredentials } from "../auth/failed-credentials.ts";
import { bearerOf } from "../http/bearer.ts";
import type { HttpRequest } from "../http/http-request.ts";
import { Refusal } from "../http/refusal.ts";
import type { ConsoleSession } from "../registry/console-access.ts";
import { checkOwnPage, checkOwnSource, sessionTextOf } from "./console-cookie.ts";
import { Problem } from "./problem.ts";

export interface ManagementGateOptions {
  /** Undefined only if the listener is reachable from this machine alone. */
  readonly adminToken: string | undefined;
  readonly failed: FailedCredentials;
  readonly platform: Pick<Platform, "sha256">;
  /** The session with this text; undefined when it is unknown, expired or ended. */
  readonly sessionOf?: (text: string) => ConsoleSession | undefined;
}

/** Caller that may manage the server. */
export interface Admin {
  /** As the audit log names the caller. */
  readonly actor: string;
  /** Session of the console; undefined for other callers. */
  readonly session?: ConsoleSession | undefined;
}

/** Name of the one token. */
const ADMIN = "admin token";

const CONSOLE: string = "console";

const SIGN_IN =
  "expected a session of the console, or the header `Authorization: Bearer <admin token>`";

export class ManagementGate {
  readonly #options: ManagementGateOptions;
  readonly #tokenHash: Uint8Array | undefined;

  constructor(options: ManagementGateOptions) {
    this.#options = options;
    const { adminToken } = options;
    this.#tokenHash = adminToken === undefined ? undefined : this.#hash(adminToken);
  }

  /** Throws a Refusal: 401 or 429 with a token, else 403. */
  admit(request: HttpRequest): Admin {
    checkSite(request);
    const session = this.#session(request);
    if (session !== undefined) return { actor: CONSOLE, session };
    if (this.#tokenHash !== undefined) {
      this.#checkToken(request, this.#tokenHash);
      return { actor: ADMIN };
    }
    checkThisMachine(request);
    return { actor: "loopback" };
  }

  /** As `admit`, for what a caller on this machine may not do without a credential (M53). */
  admitSignedIn(request: HttpRequest): Admin {
    const admin = this.admit(request);
    if (admin.actor === CONSOLE || this.#tokenHash !== undefined) return admin;
    throw new Refusal(401, `${SIGN_IN}, found none`, { "www-authenticate": "Bearer" });
  }

  /**
   * Admits a page of this server that has no credential yet (M51). Returns the session, if the
   * browser has one.
   */
  admitPage(request: HttpRequest): ConsoleSession | undefined {
    checkSite(request);
    const session = this.#session(request);
    if (session !== undefined) return session;
    if (request.headers.origin !== undefined) checkOwnSource(request);
    if (this.#tokenHash === undefined) checkThisMachine(request);
    return undefined;
  }

  /** Refuses a request for a page or file of the console under the name of another site. */
  checkPageHost(request: HttpRequest): void {
    if (this.#tokenHash === undefined) checkHost(request);
  }

  /**
   * The kind of token that `text` is, for signing in; `isConsoleToken` says whether it is that of
   * the console. Throws a Refusal: 401, or 429 after too many wrong ones.
   */
  checkSignIn(
    { remoteAddress }: HttpRequest,
    text: string,
    isConsoleToken: boolean,
  ): "admin token" | "console token" {
    const isAdmin =
      this.#tokenHash !== undefined && timingSafeEqual(this.#hash(text), this.#tokenHash);
    const { failed } = this.#options;
    if (isAdmin || isConsoleToken) {
      const name = isAdmin ? ADMIN : "console token";
      failed.pass(remoteAddress, name, "token");
      failed.accept(remoteAddress, name);
      return name;
    }
    failed.refuse(remoteAddress, "token");
    const detail = "the token is neither that of the console nor the admin token";
    throw new Refusal(401, `${detail}: it was renewed, or is misspelt`);
  }

  /** Undefined without a session. Throws a Refusal, 403 or 415, if another page may have sent it. */
  #session(request: HttpRequest): ConsoleSession | undefined {
    // A caller that sends a token means it.
    if (request.headers.authorization !== undefined) return undefined;
    const text = sessionTextOf(request.headers);
    const session = text === undefined ? undefined : this.#options.sessionOf?.(text);
    if (session === undefined) return undefined;
    checkOwnPage(request);
    if (this.#tokenHash === undefined) checkThisMachine(request);
    return session;
  }

  #checkToken({ headers, remoteAddress }: HttpRequest, hash: Uint8Array): void {
    const { authorization } = headers;
    // Hashes have equal length, so the time of the comparison reveals nothing about the token.
    const given = this.#hash(bearerOf(authorization) ?? "");
    const { failed } = this.#options;
    if (timingSafeEqual(given, hash)) {
      failed.pass(remoteAddress, ADMIN, "token");
      failed.accept(remoteAddress, ADMIN);
      return;
    }
    // A request without a token is not a guess.
    if (authorization !== undefined) failed.refuse(remoteAddress, "token");
    const expected = "expected the header `Authorization: Bearer <admin token>`";
    const found = authorization === undefined ? "found none" : "found another token";
    throw new Refusal(401, `${expected}, ${found}`, { "www-authenticate": "Bearer" });
  }

  #hash(token: string): Uint8Array {
    return this.#options.platform.sha256(encodeText(token));
  }
}

/**
 * Refuses browser requests from pages of another site or port (M37). Only browsers send the header.
 */
export function checkSite({ headers }: HttpRequest): void {
  const site = headers["sec-fetch-site"];
  if (site === undefined || site === "none" || site === "same-origin") return;
  const expected = "expected none or same-origin in the header Sec-Fetch-Site";
  throw new Problem("OriginNotAllowed", `${expected}: no page of another site may call`);
}

function checkThisMachine(request: HttpRequest): void {
  checkHost(request);
  checkOrigin(request);
}

/** Another name in Host means DNS rebinding: its owner made it resolve to this machine. */
function checkHost({ headers: { host = "" } }: HttpRequest): void {
  if (isLoopbackAuthority(host)) return;
  const expected = "expected localhost or an address of this machine in the header Host";
  throw new Problem("HostNotAllowed", `${expected}; without an admin token no other may call`);
}

/** Only browsers send it; it must be the origin of this server. */
function checkOrigin({ headers: { host = "", origin }, isEncrypted }: HttpRequest): void {
  if (origin === undefined) return;
  const own = new URL(`${isEncrypted ? "https" : "http"}://${host}`).origin;
  if (origin === own) return;
  const detail = `expected no header Origin, or ${own}; without an admin token no other page may call`;
  throw new Problem("OriginNotAllowed", detail);
}
