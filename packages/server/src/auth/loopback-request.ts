/**
 * Loopback requests: detects requests from this machine itself, for access that is open during
 * development only (A13).
 */

import { isLoopbackAddress, isLoopbackAuthority, isLoopbackOrigin } from "../address/loopback.ts";
import type { HttpRequest } from "../http/http-request.ts";

/** Headers that proxies add: the request may then come from elsewhere. */
const OF_PROXIES =
  /^(?:forwarded|via|x-real-ip|cf-connecting-ip|true-client-ip|x-forwarded(?:-.*)?)$/;

/**
 * Whether a request was made on this machine and for it. A web page can point its own name at this
 * machine, but then Host has that name. It can make a browser here send the request, but then
 * Origin has that name.
 */
export function isFromThisMachine({ remoteAddress, headers }: HttpRequest): boolean {
  if (!isLoopbackAddress(remoteAddress)) return false;
  if (Object.keys(headers).some((name) => OF_PROXIES.test(name))) return false;
  const { host = "", origin } = headers;
  return isLoopbackAuthority(host) && (origin === undefined || isLoopbackOrigin(origin));
}
