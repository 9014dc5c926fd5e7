/**
 * Servable configuration: what only a server needs of its settings, beyond valid values.
 */

import { sep } from "node:path";
import { PeerError } from "@bigpeer/protocol";
import { isLoopbackHost } from "../address/loopback.ts";
import type { Config } from "./config.ts";

type Checked = Omit<Config, "settings">;

/** A backup, for example, does not need the admin token. Throws PeerError `config.invalid`. */
export function checkServable(config: Checked): void {
  checkPorts(config);
  checkBackup(config);
  const { managementPort, managementHost, adminToken } = config;
  const isOpen = managementPort !== undefined && adminToken === undefined;
  if (!isOpen || isLoopbackHost(managementHost)) return;
  throw new PeerError(
    "config.invalid",
    `anyone who reaches ${managementHost} could use the management API: set ` +
      "BIGPEER_ADMIN_TOKEN, or admin-token in the file of --config; or keep it on this machine " +
      "with --management-host 127.0.0.1, or turn it off with --management-port off",
  );
}

function checkBackup({ backup, dataDir }: Checked): void {
  if (backup !== undefined) checkBackupFolder(backup.folder, dataDir);
}

/** Throws PeerError `config.invalid` for a folder inside of the data folder. */
export function checkBackupFolder(folder: string, dataDir: string): void {
  if (!`${folder}${sep}`.startsWith(`${dataDir}${sep}`)) return;
  const message = `expected a folder outside of the data folder, found ${folder}`;
  throw new PeerError("config.invalid", `--backup-dir: ${message}`);
}

interface Listener {
  readonly what: string;
  readonly flag: string;
  readonly host: string;
  /** Undefined when it is off. */
  readonly port: number | undefined;
}

/** Without a secret for all apps, it is unknown whether the replication port will be opened. */
function checkPorts(config: Checked): void {
  const { port, host, managementPort, managementHost, replicationPort, replicationHost } = config;
  const data = { what: "the data API", flag: "--port", host, port };
  const management = {
    what: "the management API",
    flag: "--management-port",
    host: managementHost,
    port: managementPort,
  };
  const links = {
    what: "links",
    flag: "--replication-port",
    host: replicationHost,
    port: config.replicationSecret === undefined ? undefined : replicationPort,
  };
  checkApart(data, management);
  checkApart(data, links);
  checkApart(management, links);
}

/** Refuses the same port for two listeners, unless their addresses are disjoint. */
function checkApart(one: Listener, other: Listener): void {
  if (one.port === undefined || one.port === 0 || one.port !== other.port) return;
  if (!meets(one.host, other.host) && !meets(other.host, one.host)) return;
  const message = `${one.what} and ${other.what} have the same port, ${one.port}`;
  const remedy = `choose another one with ${one.flag} or ${other.flag}`;
  throw new PeerError("config.invalid", `${message}; ${remedy}`);
}

/** Whether a listener on `one` covers the address `other`. Host names are not resolved. */
function meets(one: string, other: string): boolean {
  const isAll = one === "::" || (one === "0.0.0.0" && !other.includes(":"));
  return isAll || one.toLowerCase() === other.toLowerCase();
}
