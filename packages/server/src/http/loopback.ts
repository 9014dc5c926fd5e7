/**
 * Loopback: what names this very machine, and nobody else's whatever a resolver says. The one place
 * that decides it, for listeners, connections, the header Host and the origins of pages.
 */

import { isIPv4 } from "node:net";

const PORT_MAX = 65_535;

/** A host as one types it: neither a port nor brackets. */
export function isLoopbackHost(host: string): boolean {
  if (host === "::1" || host.toLowerCase() === "localhost") return true;
  return host.startsWith("127.") && isIPv4(host);
}

/** The address of the other end of a connection. */
export function isLoopbackAddress(address: string): boolean {
  const plain = address.replace(/^::ffff:(?=\d+\.)/i, "");
  return plain === "::1" || (plain.startsWith("127.") && isIPv4(plain));
}

/** The header Host: a name or an address, IPv6 in brackets, and perhaps a port. */
export function isLoopbackAuthority(header: string): boolean {
  const [, inBrackets, plain = "", port = "0"] =
    /^(?:\[([^\]]*)\]|([^:[\]]+))(?::(\d{1,5}))?$/.exec(header) ?? [];
  if (Number(port) > PORT_MAX) return false;
  return inBrackets === undefined ? isLoopbackHost(plain) : inBrackets === "::1";
}

/**
 * An origin, only in the one form in which browsers write it. To them the names below `localhost`
 * are of this machine as well.
 */
export function isLoopbackOrigin(origin: string): boolean {
  if (!URL.canParse(origin)) return false;
  const url = new URL(origin);
  const isWeb = url.protocol === "http:" || url.protocol === "https:";
  if (!isWeb || url.origin !== origin) return false;
  return /[^.]\.localhost$/.test(url.hostname) || isLoopbackAuthority(url.hostname);
}
