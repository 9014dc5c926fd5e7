/**
 * Management gate: decides which requests may manage the server.
 *
 * With an admin token, every request needs it (M4). Without one, the listener must be reachable
 * from this machine only, and the headers Host and Origin must name this machine as well (M3).
 * Otherwise any web page could make a browser on this machine manage the server.
 */

import { timingSafeEqual } from "node:crypto";
import type { Platform } from "@bigpeer/engine";
import { encodeText } from "@bigpeer/protocol";
import { isLoopbackAuthority } from "../address/loopback.ts";
import type { FailedCredentials } from "../auth/failed-credentials.ts";
import { bearerOf } from "../http/bearer.ts";
import type { HttpRequest } from "../http/http-request.ts";
import { Refusal } from "../http/refusal.ts";
import { Problem } from "./problem.ts";

export interface ManagementGateOptions {
  /** Undefined only if the listener is reachable from this machine alone. */
  readonly adminToken: string | undefined;
  readonly failed: FailedCredentials;
  readonly platform: Pick<Platform, "sha256">;
}

/** Name of the one token. */
const ADMIN = "admin token";

export class ManagementGate {
  readonly #options: ManagementGateOptions;
  readonly #tokenHash: Uint8Array | undefined;

  constructor(options: ManagementGateOptions) {
    this.#options = options;
    const { adminToken } = options;
    this.#tokenHash = adminToken === undefined ? undefined : this.#hash(adminToken);
  }

  /** Returns the actor for the audit log. Throws a Refusal: 401 or 429 with a token, else 403. */
  admit(request: HttpRequest): string {
    checkSite(request);
    if (this.#tokenHash !== undefined) {
      this.#checkToken(request, this.#tokenHash);
      return "admin token";
    }
    checkHost(request);
    checkOrigin(request);
    return "loopback";
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
function checkSite({ headers }: HttpRequest): void {
  const site = headers["sec-fetch-site"];
  if (site === undefined || site === "none" || site === "same-origin") return;
  const expected = "expected none or same-origin in the header Sec-Fetch-Site";
  throw new Problem("OriginNotAllowed", `${expected}: no page of another site may call`);
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
