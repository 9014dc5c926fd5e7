/**
 * Options: what a peer is opened with, and its validation.
 */

import {
  canonicalBytes,
  checkValue,
  isObject,
  nearest,
  PeerError,
  SYNC_METADATA_BYTES_MAX,
  SYNC_NAME_SIZE_MAX,
  type ValueObject,
} from "@bigpeer/protocol";
import { describe, kindOf } from "./argument-check.ts";
import type { PeerHost } from "./host/peer-host.ts";
import { ownCopy, type PlainObject } from "./plain-value.ts";

/**
 * The result of the option `login`: an auth provider, and a token that it accepts
 * (docs/authentication.md).
 *
 * @example
 * const details: LoginDetails = { provider: "users", token: "a token of your own server" };
 */
export interface LoginDetails {
  /** Name of the auth provider of the app. */
  readonly provider: string;
  /** A token that the provider accepts: a JWT, a shared token, or one for a webhook. */
  readonly token: string;
}

/**
 * A session that the app has from the server itself, as an answer of `POST /{appId}/auth/login`
 * (docs/authentication.md). Use it where the app needs more of the answer than the peer does.
 *
 * @example
 * const details: SessionDetails = { accessToken: "eyJhbGci…", userId: "u1" };
 */
export interface SessionDetails {
  /** The session, which the peer sends as its credential. */
  readonly accessToken: string;
  /** Its end, as the server wrote it. Without an end it is used for one connection. */
  readonly accessExpiry?: string;
  /** The user that the provider named. */
  readonly userId?: string;
  /** The header `Date` of the answer, for a device whose clock is wrong. */
  readonly date?: string | undefined;
}

/**
 * What the option `login` gives: how to log in, or a session that the app has already.
 *
 * @example
 * const login = async (): Promise<Login> => ({ provider: "users", token: "a token of your own server" });
 */
export type Login = LoginDetails | SessionDetails;

/**
 * The options of {@link openPeer}: either `folder` or `memory`, and either `token` or `login`. The
 * peer refuses unknown names.
 *
 * @example
 * const options: PeerOptions = { appId, url: dataUrl, token: apiKey, memory: true };
 * const second = await openPeer(options);
 * await second.close();
 */
export type PeerOptions = CommonOptions & StorageOptions & CredentialOptions;

/**
 * Where a peer keeps its documents: in a folder or in memory.
 *
 * @example
 * const storage: StorageOptions = { memory: true };
 */
export type StorageOptions =
  | {
      /** Folder for the documents, created if it does not exist. One peer can open it at a time. */
      readonly folder: string;
      readonly memory?: never;
    }
  | {
      readonly folder?: never;
      /** Instead of a folder: keeps the documents in memory until the peer is closed. */
      readonly memory: true;
    };

/**
 * The credential of a peer: a token, or a function that logs in.
 *
 * @example
 * const credential: CredentialOptions = {
 *   login: async () => ({ provider: "users", token: "a token of your own server" }),
 * };
 */
export type CredentialOptions =
  | {
      /** An API key, the token of a login session, or a JWT that the app trusts. */
      readonly token: string;
      readonly login?: never;
    }
  | {
      readonly token?: never;
      /**
       * Instead of a token: the peer calls it each time it needs a new session. It gives the details
       * of a login, or the session of one that the app has made itself.
       */
      readonly login: () => Login | Promise<Login>;
    };

/**
 * The options of a peer besides its storage and its credential.
 *
 * @example
 * const common: CommonOptions = { appId, url: dataUrl, deviceName: "till 3", remote: "off" };
 */
export interface CommonOptions {
  /** Id of the app whose documents the peer holds: a UUID. */
  readonly appId: string;
  /** Address of the data API of the server: http, https, ws or wss, without `/api/v4`. */
  readonly url: string;
  /** Name of the device as other peers see it. The default is the name of the machine. */
  readonly deviceName?: string;
  /** Values that other peers see, at most 16 KB. The default is no values. */
  readonly metadata?: Readonly<Record<string, unknown>>;
  /** Which remote statements the peer runs. The default is `"read"`. */
  readonly remote?: RemotePolicy;
  /**
   * Bytes of all attachments on this device, at most. The default is 10 GiB, for a peer in memory
   * 64 MiB. Contents that the server has too are removed when there is no space for others.
   */
  readonly attachmentBytesMax?: number;
}

/**
 * A statement that another caller sends to this peer (docs/remote-execute.md). A
 * {@link RemotePolicy} allows or refuses it.
 *
 * @example
 * const isHarmless = ({ statement, isWrite }: RemoteStatement): boolean =>
 *   !isWrite && statement.startsWith("SELECT");
 */
export interface RemoteStatement {
  /** The text of the statement. */
  readonly statement: string;
  /** Values for its parameters. */
  readonly args: PlainObject;
  /** Whether it changes documents, indexes or settings. */
  readonly isWrite: boolean;
}

/**
 * Which remote statements a peer runs: those that only read (`"read"`, the default), all
 * (`"write"`), none (`"off"`), or those for which a function returns or resolves with `true`. If
 * the function throws, the peer refuses the statement and emits `error`.
 *
 * @example
 * const remote: RemotePolicy = ({ isWrite }) => !isWrite;
 * const till = await openPeer({ appId, url: dataUrl, token: apiKey, memory: true, remote });
 * await till.close();
 */
export type RemotePolicy =
  | "read"
  | "write"
  | "off"
  | ((request: RemoteStatement) => boolean | Promise<boolean>);

export interface CheckedOptions {
  readonly appId: string;
  /** http or https, without a trailing slash. */
  readonly baseUrl: string;
  readonly credential:
    | { readonly kind: "token"; readonly token: string }
    | { readonly kind: "login"; readonly login: () => Login | Promise<Login> };
  readonly deviceName: string;
  readonly metadata: ValueObject;
  readonly remote: RemotePolicy;
  /** Left out for the default of the place. */
  readonly attachmentBytesMax?: number | undefined;
}

export interface CheckedNodeOptions extends CheckedOptions {
  /** Undefined for a store in memory. */
  readonly folder: string | undefined;
}

/** All options; the compiler checks that none is missing. */
const NAMES: { readonly [Name in keyof Required<PeerOptions>]: true } = {
  appId: true,
  url: true,
  folder: true,
  memory: true,
  token: true,
  login: true,
  deviceName: true,
  metadata: true,
  remote: true,
  attachmentBytesMax: true,
};

/** The path of an operation after the server's address, which may have the prefix of a proxy. */
const OPERATION_PATH =
  /(\/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})?\/api\/v[45](\/.*)?$|\/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\/(sync|auth\/login)$/i;

const APP_ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Throws a PeerError `config.invalid` that names the option. */
export function checkOptions(
  options: PeerOptions,
  host: Pick<PeerHost, "deviceName">,
): CheckedNodeOptions {
  return { ...checkCommon(options, Object.keys(NAMES), host), folder: checkPlace(options) };
}

/** The options that a peer has on every host; `names` are all that it may have on this one. */
export function checkCommon(
  options: CommonOptions & CredentialOptions,
  names: readonly string[],
  host: Pick<PeerHost, "deviceName">,
): CheckedOptions {
  const { deviceName = host.deviceName.slice(0, SYNC_NAME_SIZE_MAX), ...checked } =
    checkWithoutMetadata(options, names);
  return { ...checked, deviceName, metadata: checkMetadata(ownCopy(options.metadata)) };
}

/** The device may have no name. */
export type CheckedWithoutMetadata = Omit<CheckedOptions, "deviceName" | "metadata"> & {
  readonly deviceName: string | undefined;
};

/** For pages: the check of metadata takes much code, which their worker has anyway. */
export function checkWithoutMetadata(
  options: CommonOptions & CredentialOptions,
  names: readonly string[],
): CheckedWithoutMetadata {
  if (typeof options !== "object" || options === null)
    throw invalid("options", "an object", options);
  checkNames(options, names);
  const { appId, deviceName } = options;
  if (typeof appId !== "string" || !APP_ID.test(appId)) {
    throw invalid("appId", "the UUID of an app in lower case", appId);
  }
  if (deviceName !== undefined && !isName(deviceName)) {
    throw invalid("deviceName", `a name of at most ${SYNC_NAME_SIZE_MAX} characters`, deviceName);
  }
  return {
    appId,
    baseUrl: checkUrl(options.url),
    credential: checkCredential(options),
    deviceName,
    remote: checkRemote(options.remote),
    attachmentBytesMax: checkBytesMax(options.attachmentBytesMax),
  };
}

/** Refuses unknown names: `remot: "off"` would leave a peer that answers, by its default. */
function checkNames(options: object, names: readonly string[]): void {
  const unknown = Object.keys(options).find((name) => !names.includes(name));
  if (unknown === undefined) return;
  const message = `expected one of ${names.join(", ")} as an option`;
  const near = nearest(unknown, names);
  const hint = near === undefined ? "" : `; did you mean ${near}?`;
  throw new PeerError("config.invalid", `${message}, found ${describe(unknown)}${hint}`);
}

function isName(name: unknown): boolean {
  return typeof name === "string" && name !== "" && name.length <= SYNC_NAME_SIZE_MAX;
}

function checkUrl(url: unknown): string {
  const parsed = typeof url === "string" && URL.canParse(url) ? new URL(url) : undefined;
  const secure = parsed && /^(http|ws)(s?):$/.exec(parsed.protocol)?.[2];
  if (parsed === undefined || secure === undefined) {
    throw invalid("url", "a URL with http, https, ws or wss", url);
  }
  // It would be ignored silently, and a message must not repeat a password.
  if (`${parsed.username}${parsed.password}${parsed.search}${parsed.hash}` !== "") {
    const message = "expected a URL without credentials, query or fragment as url";
    throw new PeerError("config.invalid", message);
  }
  const baseUrl = `http${secure}://${parsed.host}`;
  const path = parsed.pathname.replace(/\/+$/, "");
  const surplus = OPERATION_PATH.exec(path)?.[0];
  if (surplus === undefined) return `${baseUrl}${path}`;
  const meant = `${baseUrl}${path.slice(0, -surplus.length)}`;
  const message = `expected the address of the server as url, found ${describe(url)}`;
  throw new PeerError("config.invalid", `${message}; use "${meant}", without ${surplus}`);
}

function checkPlace({ folder, memory }: PeerOptions): string | undefined {
  const isInMemory = memory === true;
  if (isInMemory === (folder !== undefined)) {
    const found = isInMemory ? "both" : "neither";
    throw new PeerError("config.invalid", `expected folder or memory: true, found ${found}`);
  }
  if (isInMemory) return undefined;
  if (typeof folder !== "string" || folder === "") throw invalid("folder", "a path", folder);
  return folder;
}

function checkCredential({ token, login }: CredentialOptions): CheckedOptions["credential"] {
  if ((token === undefined) === (login === undefined)) {
    const found = token === undefined ? "neither" : "both";
    throw new PeerError("config.invalid", `expected token or login, found ${found}`);
  }
  if (login !== undefined) {
    if (typeof login !== "function") throw invalid("login", "a function", login);
    return { kind: "login", login };
  }
  if (typeof token !== "string" || token === "") throw invalid("token", "a text", token);
  return { kind: "token", token };
}

/** Throws a PeerError unless it is a number of bytes, or undefined. */
function checkBytesMax(bytes: unknown): number | undefined {
  if (bytes === undefined) return undefined;
  if (typeof bytes === "number" && Number.isSafeInteger(bytes) && bytes >= 0) return bytes;
  throw invalid("attachmentBytesMax", "a number of bytes", bytes);
}

function checkRemote(remote: unknown): RemotePolicy {
  if (remote === undefined) return "read";
  if (remote === "read" || remote === "write" || remote === "off") return remote;
  if (typeof remote === "function") return remote as RemotePolicy;
  throw invalid("remote", '"read", "write", "off" or a function', remote);
}

/** Throws a PeerError unless it is an object of values within the limit. */
export function checkMetadata(metadata: unknown): ValueObject {
  if (metadata === undefined) return {};
  const value = checkValue(metadata, "metadata");
  if (!isObject(value)) throw invalid("metadata", "an object", metadata);
  const size = canonicalBytes(value).length;
  if (size <= SYNC_METADATA_BYTES_MAX) return value;
  const message = `expected at most ${SYNC_METADATA_BYTES_MAX} bytes of metadata, found ${size}`;
  throw new PeerError("config.invalid", message);
}

/** The message has only the kind of a token, because a token is a secret. */
function invalid(option: string, expected: string, found: unknown): PeerError {
  const described = option === "token" ? kindOf(found) : describe(found);
  return new PeerError("config.invalid", `expected ${expected} as ${option}, found ${described}`);
}
