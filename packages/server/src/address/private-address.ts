/**
 * Private addresses: addresses that do not belong to the public internet, so that a request of the
 * server to them could reach services that are meant for its own network.
 *
 * The ranges are those of the IANA special-purpose registries. An address of IPv6 that carries one
 * of IPv4 (mapped, translated, 6to4) counts as the latter.
 */

import { BlockList, isIP, isIPv4 } from "node:net";

const IPV4_RANGES = [
  "0.0.0.0/8",
  "10.0.0.0/8",
  "100.64.0.0/10",
  "127.0.0.0/8",
  "169.254.0.0/16",
  "172.16.0.0/12",
  "192.0.0.0/24",
  "192.0.2.0/24",
  "192.88.99.0/24",
  "192.168.0.0/16",
  "198.18.0.0/15",
  "198.51.100.0/24",
  "203.0.113.0/24",
  "224.0.0.0/4",
  "240.0.0.0/4",
];

/** All of IPv6 but 2000::/3 is reserved, for this machine, for one network or for many receivers. */
const IPV6_RANGES = ["::/3", "4000::/2", "8000::/1", "2001::/23", "2001:db8::/32", "3fff::/20"];

/** Two lists: one alone would take each address of IPv4 for one of IPv6. */
const ipv4 = listOf(IPV4_RANGES, "ipv4");
const ipv6 = listOf(IPV6_RANGES, "ipv6");

/** Whether a request to the address stays out of the public internet. True for any other text. */
export function isPrivateAddress(address: string): boolean {
  const plain = address.replace(/%.*$/, "");
  if (isIP(plain) === 0) return true;
  const embedded = isIPv4(plain) ? plain : embeddedIpv4(groupsOf(plain));
  return embedded === undefined ? ipv6.check(plain, "ipv6") : ipv4.check(embedded, "ipv4");
}

function listOf(ranges: readonly string[], family: "ipv4" | "ipv6"): BlockList {
  const list = new BlockList();
  for (const range of ranges) {
    const [address = "", bits] = range.split("/");
    list.addSubnet(address, Number(bits), family);
  }
  return list;
}

/** The address of IPv4 inside one of IPv6; undefined if there is none. */
function embeddedIpv4(groups: readonly number[]): string | undefined {
  const [first = 0, second = 0, third = 0] = groups;
  if (first === 0x2002) return dotted(second, third);
  // Only 64:ff9b::/96: a network uses 64:ff9b:1::/48 as it likes, with IPv4 at other places.
  const isNat64 = first === 0x64 && second === 0xff9b && isZero(groups.slice(2, 6));
  const isMapped = isZero(groups.slice(0, 5)) && groups[5] === 0xffff;
  return isNat64 || isMapped ? dotted(groups[6] ?? 0, groups[7] ?? 0) : undefined;
}

function isZero(groups: readonly number[]): boolean {
  return groups.every((group) => group === 0);
}

function dotted(high: number, low: number): string {
  return [high >> 8, high & 255, low >> 8, low & 255].join(".");
}

/** The eight groups of an address of IPv6. */
function groupsOf(address: string): readonly number[] {
  const [front = "", back] = withoutDots(address).split("::");
  const before = numbersOf(front);
  const after = back === undefined ? [] : numbersOf(back);
  const zeros = Array.from({ length: 8 - before.length - after.length }, () => 0);
  return [...before, ...zeros, ...after];
}

/** Writes an ending such as `:127.0.0.1` as two groups. */
function withoutDots(address: string): string {
  return address.replace(/\d+\.\d+\.\d+\.\d+$/, (dots) => {
    const [a = 0, b = 0, c = 0, d = 0] = dots.split(".").map(Number);
    return `${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`;
  });
}

function numbersOf(text: string): number[] {
  return text === "" ? [] : text.split(":").map((group) => Number.parseInt(group, 16));
}
