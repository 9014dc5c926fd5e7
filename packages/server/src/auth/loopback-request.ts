/**
 * Requests of this machine itself: for what is open while one develops, and to nobody else.
 */

import type { HttpRequest } from "../http/http-request.ts";
import { isLoopbackAddress, isLoopbackAuthority, isLoopbackOrigin } from "../http/loopback.ts";

/** What proxies add: then the request is somebody else's. */
const OF_PROXIES =
  /^(?:forwarded|via|x-real-ip|cf-connecting-ip|true-client-ip|x-forwarded(?:-.*)?)$/;

/**
 * Whether a request was made on this machine, and for it: a page of the web can let its own name
 * lead here, but then that name is the host, or have the browser of its reader ask, but then it is
 * the origin.
 */
export function isFromThisMachine({ remoteAddress, headers }: HttpRequest): boolean {
  if (!isLoopbackAddress(remoteAddress)) return false;
  if (Object.keys(headers).some((name) => OF_PROXIES.test(name))) return false;
  const { host = "", origin } = headers;
  return isLoopbackAuthority(host) && (origin === undefined || isLoopbackOrigin(origin));
}
