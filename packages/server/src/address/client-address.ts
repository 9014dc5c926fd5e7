/**
 * Client address: the IP address of a client, which limits, logs and throttling use (H46).
 *
 * Without a proxy it is the other end of the connection. A trusted proxy appends the address of its
 * caller at the right end of `X-Forwarded-For`; a client can forge everything further left. So the
 * list is read from the right, past addresses of trusted proxies, to the first other address.
 */

import { BlockList, isIP, isIPv6 } from "node:net";

/** An address or a range of addresses, as in `10.0.0.0/8`. */
export interface AddressRange {
  readonly address: string;
  readonly family: "ipv4" | "ipv6";
  /** Number of leading bits that all addresses of the range share. */
  readonly prefix: number;
}

const BITS = { ipv4: 32, ipv6: 128 } as const;

/** Parses an address or a range in CIDR notation; undefined when it is neither. */
export function readAddressRange(text: string): AddressRange | undefined {
  const [given = "", bits, more] = text.split("/");
  const address = plainAddress(given);
  const version = isIP(address);
  if (version === 0 || address.includes("%") || more !== undefined) return undefined;
  const family = version === 4 ? "ipv4" : "ipv6";
  // The prefix of an IPv4-mapped address would count bits of IPv6.
  if (bits !== undefined && (address !== given || !/^\d{1,3}$/.test(bits))) return undefined;
  const prefix = bits === undefined ? BITS[family] : Number(bits);
  return prefix <= BITS[family] ? { address, family, prefix } : undefined;
}

/** Entries of the header that are read; chains of proxies are far shorter. */
const ENTRIES_MAX = 32;

export class TrustedProxies {
  readonly #list = new BlockList();
  readonly #isEmpty: boolean;

  constructor(ranges: readonly AddressRange[]) {
    this.#isEmpty = ranges.length === 0;
    for (const { address, prefix, family } of ranges) {
      this.#list.addSubnet(address, prefix, family);
    }
  }

  has(address: string): boolean {
    if (this.#isEmpty) return false;
    const plain = plainAddress(address);
    const version = isIP(plain);
    return version !== 0 && this.#list.check(plain, version === 4 ? "ipv4" : "ipv6");
  }

  /**
   * Returns the client of a request that came from `remoteAddress`. An entry that is not an
   * address, and everything to its left, is ignored: the last proxy before it is then the client.
   */
  clientOf(remoteAddress: string, forwardedFor: string | string[] | undefined): string {
    if (this.#isEmpty || forwardedFor === undefined || !this.has(remoteAddress)) {
      return remoteAddress;
    }
    const header = typeof forwardedFor === "string" ? forwardedFor : forwardedFor.join(",");
    let client = remoteAddress;
    let end = header.length;
    for (let i = 0; i < ENTRIES_MAX && end >= 0; i++) {
      const comma = header.lastIndexOf(",", end - 1);
      const address = addressOf(header.slice(comma + 1, end).trim());
      if (address === undefined) return client;
      client = address;
      if (comma < 0 || !this.has(address)) return client;
      end = comma;
    }
    return client;
  }
}

/** Parses an entry: an address, optionally with a port. Undefined when it is not one. */
function addressOf(entry: string): string | undefined {
  if (entry.length > ENTRY_LENGTH_MAX) return undefined;
  const [, inBrackets, withPort] =
    /^(?:\[([^\]]+)\](?::\d{1,5})?|([\d.]+):\d{1,5})$/.exec(entry) ?? [];
  const address = plainAddress(inBrackets ?? withPort ?? entry);
  if (isIP(address) === 0) return undefined;
  return inBrackets !== undefined && !isIPv6(inBrackets) ? undefined : address;
}

/** Length of the longest address, in brackets and with a port. */
const ENTRY_LENGTH_MAX = 64;

/** Turns an IPv4-mapped IPv6 address into the IPv4 address. */
function plainAddress(address: string): string {
  return address.replace(/^::ffff:(?=\d+\.\d+\.\d+\.\d+$)/i, "");
}

/** Returns the /64 of an IPv6 address, because one client usually has all 2^64; IPv4 as it is. */
export function networkOf(address: string): string {
  const plain = plainAddress(address);
  if (!isIPv6(plain)) return plain;
  const [front = "", back] = plain.replace(/%.*$/, "").split("::");
  const before = front === "" ? [] : front.split(":");
  // `::` stands for as many zero groups as are missing.
  const after = back === undefined || back === "" ? [] : back.split(":");
  const zeros = Math.max(0, 8 - before.length - after.length);
  const groups = [...before, ...Array.from({ length: zeros }, () => "0"), ...after];
  return groups
    .slice(0, 4)
    .map((group) => group.replace(/^0+(?=.)/, "") || "0")
    .join(":");
}
