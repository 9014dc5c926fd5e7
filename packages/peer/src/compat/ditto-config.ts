/**
 * Ditto config: the database, the server and the persistence directory of an instance.
 */

import type { AnyObject } from "./any-value.ts";
import { DittoError } from "./ditto-error.ts";

export interface DittoConfigConnectServer {
  mode: "server";
  /** Address of the Big Peer: http, https, ws or wss. */
  url: string;
}

export interface DittoConfigConnectSmallPeersOnly {
  mode: "smallPeersOnly";
  /** Not used: nothing is encrypted between small peers, which do not connect to each other. */
  privateKey?: string | null;
}

export type DittoConfigConnect = DittoConfigConnectServer | DittoConfigConnectSmallPeersOnly;

/** The form of the constructor with names. */
export interface DittoConfigOptions {
  databaseID: string;
  connect: DittoConfigConnect;
  persistenceDirectory?: string | undefined;
  /** Set with `ALTER SYSTEM` when the instance is opened. */
  systemParameters?: AnyObject | undefined;
}

const DEFAULT_DATABASE_ID = "00000000-0000-0000-0000-000000000000";

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

export class DittoConfig {
  /** Id of the database: on the Big Peer, the id of the app. A UUID. */
  databaseID: string;
  connect: DittoConfigConnect;
  /** A path, absolute or below `Ditto.DEFAULT_ROOT_DIRECTORY`; in a browser a name. */
  persistenceDirectory?: string;
  systemParameters?: AnyObject;

  constructor(databaseID: string, connect: DittoConfigConnect, persistenceDirectory?: string);
  constructor(options: DittoConfigOptions);
  constructor(
    first: string | DittoConfigOptions,
    connect?: DittoConfigConnect,
    persistenceDirectory?: string,
  ) {
    const given =
      typeof first === "string" ? { databaseID: first, connect, persistenceDirectory } : first;
    const {
      databaseID,
      persistenceDirectory: directory,
      systemParameters,
    } = {
      systemParameters: undefined,
      ...given,
    };
    if (typeof databaseID !== "string") {
      throw new TypeError(`expected the id of a database, found ${typeof databaseID}`);
    }
    this.databaseID = databaseID;
    this.connect = given.connect as DittoConfigConnect;
    if (directory !== undefined) this.persistenceDirectory = directory;
    if (systemParameters !== undefined) this.systemParameters = systemParameters;
  }

  static get DEFAULT_DATABASE_ID(): string {
    return DEFAULT_DATABASE_ID;
  }

  /** A config without a server. */
  static get default(): DittoConfig {
    return new DittoConfig(DEFAULT_DATABASE_ID, { mode: "smallPeersOnly" });
  }

  get isFrozen(): boolean {
    return Object.isFrozen(this);
  }

  /** Makes it read-only. */
  freeze(): Readonly<this> {
    Object.freeze(this.connect);
    return Object.freeze(this);
  }

  /** A copy that can be changed. */
  copy(): DittoConfig {
    return new DittoConfig({
      databaseID: this.databaseID,
      connect: { ...this.connect },
      persistenceDirectory: this.persistenceDirectory,
      systemParameters: this.systemParameters,
    });
  }
}

/** Throws DittoError `validation/invalid-ditto-config` that names the field. */
export function checkConfig(config: DittoConfig): void {
  const { databaseID, connect } = config;
  if (!UUID.test(databaseID)) throw invalid("a UUID", "databaseID", databaseID);
  const mode: unknown = (connect as DittoConfigConnect | undefined)?.mode;
  if (mode !== "server" && mode !== "smallPeersOnly") {
    throw invalid('"server" or "smallPeersOnly"', "connect.mode", mode);
  }
  if (connect.mode === "server" && !isAddress(connect.url)) {
    throw invalid("a URL with http, https, ws or wss", "connect.url", connect.url);
  }
}

function isAddress(url: unknown): boolean {
  return typeof url === "string" && URL.canParse(url) && /^(http|ws)s?:/i.test(url);
}

function invalid(expected: string, field: string, found: unknown): DittoError {
  const described = typeof found === "string" ? `"${found}"` : typeof found;
  const message = `expected ${expected} as ${field}, found ${described}`;
  return new DittoError("validation/invalid-ditto-config", message);
}
