/**
 * Requests of this machine itself: for what is open while one develops, and to nobody else.
 */

import type { HttpRequest } from "../http/http-request.ts";

/** What a proxy adds: then the request is somebody else's. */
const FORWARDED = ["forwarded", "x-forwarded-for", "x-forwarded-host", "x-real-ip", "via"];

const LOOPBACK_ADDRESS = /^(?:::1|(?:::ffff:)?127(?:\.\d{1,3}){3})$/i;
const LOOPBACK_HOST = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d+)?$/i;

/**
 * Whether a request was made on this machine, and for it: a page of the web can let its own name
 * lead here, but then that name is the host.
 */
export function isFromThisMachine({ remoteAddress, headers }: HttpRequest): boolean {
  if (!LOOPBACK_ADDRESS.test(remoteAddress)) return false;
  if (FORWARDED.some((name) => headers[name] !== undefined)) return false;
  return LOOPBACK_HOST.test(headers.host ?? "");
}
