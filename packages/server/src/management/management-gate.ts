/**
 * The gate of the management API: who may manage.
 *
 * With an admin token, whoever has it. Without one, whoever reaches a listener that only this
 * machine reaches: then the headers Host and Origin must name this machine as well, or a page from
 * anywhere could have the browser of its reader manage the server.
 */

import { timingSafeEqual } from "node:crypto";
import type { Platform } from "@bigpeer/engine";
import { encodeText } from "@bigpeer/protocol";
import type { FailedCredentials } from "../failed-credentials.ts";
import { bearerOf } from "../http/bearer.ts";
import type { HttpRequest } from "../http/http-request.ts";
import { isLoopbackAuthority } from "../http/loopback.ts";
import { Refusal } from "../http/refusal.ts";
import { Problem } from "./problem.ts";

export interface ManagementGateOptions {
  /** Undefined only where nobody but this machine reaches the listener. */
  readonly adminToken: string | undefined;
  readonly failed: FailedCredentials;
  readonly platform: Pick<Platform, "sha256">;
}

/** There is one token. */
const ADMIN = "admin token";

export class ManagementGate {
  readonly #options: ManagementGateOptions;
  readonly #tokenHash: Uint8Array | undefined;

  constructor(options: ManagementGateOptions) {
    this.#options = options;
    const { adminToken } = options;
    this.#tokenHash = adminToken === undefined ? undefined : this.#hash(adminToken);
  }

  /** Who asks, for the audit log. Throws a Refusal: 401 or 429 with a token, 403 else. */
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
    // Hashes have one length: the time to compare them tells nothing of the token.
    const given = this.#hash(bearerOf(authorization) ?? "");
    const { failed } = this.#options;
    if (timingSafeEqual(given, hash)) {
      failed.pass(remoteAddress, ADMIN, "token");
      failed.accept(remoteAddress, ADMIN);
      return;
    }
    // Whoever sends none guesses nothing.
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
 * Browsers say where a request comes from: a page of another site, or of another port of this one,
 * must not even ask. Other clients say nothing.
 */
function checkSite({ headers }: HttpRequest): void {
  const site = headers["sec-fetch-site"];
  if (site === undefined || site === "none" || site === "same-origin") return;
  const expected = "expected none or same-origin in the header Sec-Fetch-Site";
  throw new Problem("OriginNotAllowed", `${expected}: no page of another site may call`);
}

/** The name of another machine here means that its owner let it lead to this one. */
function checkHost({ headers: { host = "" } }: HttpRequest): void {
  if (isLoopbackAuthority(host)) return;
  const expected = "expected localhost or an address of this machine in the header Host";
  throw new Problem("HostNotAllowed", `${expected}; without an admin token no other may call`);
}

/** Only browsers send it: for every page that is not of this very server. */
function checkOrigin({ headers: { host = "", origin }, isEncrypted }: HttpRequest): void {
  if (origin === undefined) return;
  const own = new URL(`${isEncrypted ? "https" : "http"}://${host}`).origin;
  if (origin === own) return;
  const detail = `expected no header Origin, or ${own}; without an admin token no other page may call`;
  throw new Problem("OriginNotAllowed", detail);
}
