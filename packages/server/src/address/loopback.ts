/**
 * Loopback: decides whether a host, address or origin names this machine itself, regardless of any
 * resolver. Listeners, connections, the header Host and origins of pages all use this check.
 */

import { isIPv4 } from "node:net";

const PORT_MAX = 65_535;

/** A host as typed: without port or brackets. */
export function isLoopbackHost(host: string): boolean {
  if (host === "::1" || host.toLowerCase() === "localhost") return true;
  return host.startsWith("127.") && isIPv4(host);
}

/** The address of the other end of a connection. */
export function isLoopbackAddress(address: string): boolean {
  const plain = address.replace(/^::ffff:(?=\d+\.)/i, "");
  return plain === "::1" || (plain.startsWith("127.") && isIPv4(plain));
}

/** The header Host: a name or an address, IPv6 in brackets, optionally with a port. */
export function isLoopbackAuthority(header: string): boolean {
  const [, inBrackets, plain = "", port = "0"] =
    /^(?:\[([^\]]*)\]|([^:[\]]+))(?::(\d{1,5}))?$/.exec(header) ?? [];
  if (Number(port) > PORT_MAX) return false;
  return inBrackets === undefined ? isLoopbackHost(plain) : inBrackets === "::1";
}

/**
 * An origin in exactly the form that browsers write. Browsers resolve names below `localhost` to
 * this machine as well.
 */
export function isLoopbackOrigin(origin: string): boolean {
  if (!URL.canParse(origin)) return false;
  const url = new URL(origin);
  const isWeb = url.protocol === "http:" || url.protocol === "https:";
  if (!isWeb || url.origin !== origin) return false;
  return /[^.]\.localhost$/.test(url.hostname) || isLoopbackAuthority(url.hostname);
}
