/**
 * Console cookie: carries the session of a browser that is signed in to the console.
 *
 * A browser sends the cookie by itself, also with requests of pages that are not the console: of
 * other ports of the same host, which count as the same site. Such requests are refused by the
 * headers that only the browser sets (M52).
 */

import type { IncomingHttpHeaders } from "node:http";
import type { HttpRequest } from "../http/http-request.ts";
import { Refusal } from "../http/refusal.ts";
import { pathOf } from "../http/router.ts";
import { CONSOLE_SESSION_MS } from "../limits/limits.ts";
import { Problem } from "./problem.ts";

/** Cookies are shared by all ports of a host, so the port is part of the name. */
const NAME = "bigpeer_console";

/** What a form of a page can send without asking the server first, beside a body without a type. */
const FORM_TYPES = /^\s*(?:application\/x-www-form-urlencoded|multipart\/form-data|text\/plain)\b/i;

/** The operation that takes a file from a form. */
const UPLOAD_PATH = /\/attachments\/upload$/;

/** Text of the session in the cookie; undefined without one. */
export function sessionTextOf(headers: IncomingHttpHeaders): string | undefined {
  const start = `${nameFor(headers)}=`;
  const found = headers.cookie?.split(";").find((part) => part.trim().startsWith(start));
  const text = found?.trim().slice(start.length);
  return text === undefined || text === "" ? undefined : text;
}

/** Header that gives the browser its session. */
export function signedInCookie(request: HttpRequest, text: string): string {
  return cookie(request, text, CONSOLE_SESSION_MS / 1000);
}

/** Header that takes the session from the browser. */
export function signedOutCookie(request: HttpRequest): string {
  return cookie(request, "", 0);
}

/**
 * Refuses a request with the cookie that another page may have made the browser send. A change needs
 * a header that names the page, and no body that a form could send.
 */
export function checkOwnPage(request: HttpRequest): void {
  const { method, target, headers, bodySizeMax } = request;
  if (method === "GET" || method === "HEAD") return;
  checkOwnSource(request);
  const type = headers["content-type"];
  if (bodySizeMax === 0 || UPLOAD_PATH.test(pathOf(target))) return;
  if (type !== undefined && !FORM_TYPES.test(type)) return;
  throw new Refusal(415, `expected the content type application/json, found ${type ?? "none"}`);
}

/** Refuses a request that does not name a page of this server as its source. */
export function checkOwnSource({ headers }: HttpRequest): void {
  const { host = "", origin } = headers;
  const site = headers["sec-fetch-site"];
  if (site === "same-origin") return;
  // Where pages have no TLS, browsers send Origin alone. A proxy may end TLS: schemes may differ.
  const isOwn = site === undefined && origin !== undefined && hostOf(origin) === host.toLowerCase();
  if (isOwn) return;
  const expected =
    "expected the header Sec-Fetch-Site with same-origin, or Origin with this server";
  throw new Problem("OriginNotAllowed", `${expected}: only the console itself may use its cookie`);
}

function hostOf(origin: string): string | undefined {
  return URL.canParse(origin) ? origin.toLowerCase().replace(/^https?:\/\//, "") : undefined;
}

function nameFor({ host = "" }: IncomingHttpHeaders): string {
  const port = /:(\d{1,5})$/.exec(host)?.[1];
  return port === undefined ? NAME : `${NAME}_${port}`;
}

function cookie(request: HttpRequest, text: string, maxAgeSeconds: number): string {
  const { headers, isEncrypted } = request;
  // A proxy may end TLS; the browser knows how it reached the page.
  const isSecure = isEncrypted || headers.origin?.startsWith("https:") === true;
  return [
    `${nameFor(headers)}=${text}`,
    "Path=/",
    `Max-Age=${maxAgeSeconds}`,
    "HttpOnly",
    "SameSite=Strict",
    ...(isSecure ? ["Secure"] : []),
  ].join("; ");
}
