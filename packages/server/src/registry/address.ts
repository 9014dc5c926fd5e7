/**
 * Addresses of other Big Peers: checks the form `host:port`.
 *
 * The host is a name of RFC 1123, an IPv4 address, or an IPv6 address in brackets. A host that ends
 * in a number must be a valid IPv4 address.
 */

import { isIPv4, isIPv6 } from "node:net";
import { RegistryFault, shown } from "./registry-fault.ts";

const ADDRESS = /^(?:\[(?<six>[0-9A-Fa-f:.]+)\]|(?<host>[^:[\]]+)):(?<port>[1-9][0-9]{0,4})$/;
const LABEL = /^[A-Za-z0-9]([-A-Za-z0-9]*[A-Za-z0-9])?$/;
const NUMBER = /^[0-9]+$/;
const LABEL_LENGTH_MAX = 63;
const HOST_LENGTH_MAX = 253;
const PORT_MAX = 65_535;

/** Throws InvalidRequest with the place. */
export function checkAddress(address: string, at: string): void {
  if (isAddress(address)) return;
  const form = "host:port, with a host name, an IPv4 address or [an IPv6 address]";
  const message = `expected an address ${form}, found ${shown(address)} at ${at}`;
  throw new RegistryFault("InvalidRequest", message);
}

function isAddress(address: string): boolean {
  const { six, host = "", port } = ADDRESS.exec(address)?.groups ?? {};
  if (port === undefined || Number(port) > PORT_MAX) return false;
  return six === undefined ? isHost(host) : isIPv6(six);
}

function isHost(host: string): boolean {
  if (host.length > HOST_LENGTH_MAX) return false;
  const labels = host.split(".");
  if (NUMBER.test(labels.at(-1) ?? "")) return isIPv4(host);
  return labels.every((label) => label.length <= LABEL_LENGTH_MAX && LABEL.test(label));
}
