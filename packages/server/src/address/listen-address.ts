/**
 * Listen address: the URL host of a listener, and the error when it cannot bind its address.
 */

import type { AddressInfo } from "node:net";
import { PeerError } from "@bigpeer/protocol";

/** Address that can be opened from this machine. */
export function hostOf({ address, family, port }: AddressInfo): string {
  if (address === "0.0.0.0") return `127.0.0.1:${port}`;
  if (address === "::") return `[::1]:${port}`;
  return family === "IPv6" ? `[${address}]:${port}` : `${address}:${port}`;
}

export function listenError(error: NodeJS.ErrnoException, host: string, port: number): PeerError {
  return new PeerError("config.invalid", listenMessage(error, host, port), { cause: error });
}

function listenMessage(error: NodeJS.ErrnoException, host: string, port: number): string {
  switch (error.code) {
    case "EADDRINUSE":
      return `port ${port} of ${host} is in use by another program; choose one with --port`;
    case "EACCES":
      return `port ${port} may not be used by this user; choose one above 1023 with --port`;
    default:
      return `expected an address of this machine in --host, found ${host}`;
  }
}
