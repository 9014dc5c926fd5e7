/**
 * Addresses: which server a command calls, and with which credential, together with where each
 * value comes from.
 *
 * An option comes before the profile of `--profile`, that before a variable, that before the file
 * `.env`, that before the current profile, and that before a local `quickstart.json`. A profile or a
 * quickstart file is of one server: its key and its management address are only used with its own
 * address. So a key never goes to another server, and a command never manages another one.
 */

import { BigPeerClient, type ClientOptions } from "@bigpeer/client";
import { CommandFailure, EXIT, UsageError } from "../program/failure.ts";
import type { ProgramHost } from "../program/host.ts";
import type { Options } from "../program/options.ts";
import { readEnvironmentFile } from "./environment-file.ts";
import { type Profile, profilesPath, readProfiles } from "./profiles.ts";
import { findQuickstart } from "./quickstart-file.ts";

export interface Sourced {
  readonly value: string;
  /** Where it comes from, for people. */
  readonly source: string;
  /** Whether the user named it, other than one of a profile or of quickstart.json. */
  readonly isGiven: boolean;
}

export interface Addresses {
  readonly url: Sourced | undefined;
  readonly key: Sourced | undefined;
  readonly managementUrl: Sourced | undefined;
  readonly adminToken: Sourced | undefined;
  /** The app for commands that manage one; the first start creates `default`. */
  readonly app: string;
}

type Field = keyof Profile;

/**
 * Whether what a place has belongs to the server that it names: `always`, also when it names none;
 * `named`, unless it names none; `never`.
 */
type Binding = "always" | "named" | "never";

interface Place {
  readonly valueOf: (field: Field) => Sourced | undefined;
  readonly binding: Binding;
}

const FLAGS: Readonly<Record<Field, string>> = {
  url: "url",
  key: "key",
  managementUrl: "management-url",
  adminToken: "",
};

export const VARIABLES: Readonly<Record<Field, string>> = {
  url: "BIGPEER_URL",
  key: "BIGPEER_KEY",
  managementUrl: "BIGPEER_MANAGEMENT_URL",
  adminToken: "BIGPEER_ADMIN_TOKEN",
};

export function findAddresses(options: Options, host: ProgramHost): Addresses {
  const places = placesOf(options, host);
  const url = checked(places.map(({ valueOf }) => valueOf("url")).find(isFound));
  const managementUrl = checked(boundTo(places, "managementUrl", ["url", url]));
  return {
    url,
    key: boundTo(places, "key", ["url", url]),
    managementUrl,
    adminToken: boundTo(places, "adminToken", ["managementUrl", managementUrl]),
    app: flagOf(options, "app") ?? "default",
  };
}

function isFound(value: Sourced | undefined): boolean {
  return value !== undefined;
}

/** The first value of a place that does not belong to another address than the chosen one. */
function boundTo(
  places: readonly Place[],
  field: Field,
  [addressField, chosen]: readonly [Field, Sourced | undefined],
): Sourced | undefined {
  const fitting = places.filter(({ valueOf, binding }) => {
    const own = valueOf(addressField)?.value;
    if (binding === "never" || (binding === "named" && own === undefined)) return true;
    return withoutSlash(own ?? "") === withoutSlash(chosen?.value ?? "");
  });
  return fitting.map(({ valueOf }) => valueOf(field)).find(isFound);
}

function withoutSlash(url: string): string {
  return url.replace(/\/+$/, "");
}

function checked(address: Sourced | undefined): Sourced | undefined {
  if (address === undefined) return undefined;
  const { value, source } = address;
  if (/^https?:\/\/[^\s/]+/.test(value) && URL.canParse(value)) return address;
  const message = `expected an address such as http://127.0.0.1:8080, found "${value}"`;
  throw new UsageError(`${source}: ${message}`);
}

function placesOf(options: Options, host: ProgramHost): Place[] {
  const file = readEnvironmentFile(host.folder);
  const profile = profileOf(options, host);
  const saved = savedPlace(profile?.values, profile?.source ?? "");
  const quickstart = findQuickstart(host);
  // Variables of one server are not mixed with a profile of another.
  const isNamed = options.text("profile") !== undefined;
  const binding = isNamed ? "named" : "never";
  return [
    givenPlace("never", (field) => [flagOf(options, FLAGS[field]), `--${FLAGS[field]}`]),
    ...(isNamed ? [saved] : []),
    givenPlace(binding, (field) => [host.env[VARIABLES[field]], VARIABLES[field]]),
    givenPlace(binding, (field) => [file.get(VARIABLES[field]), `${VARIABLES[field]} in .env`]),
    ...(isNamed ? [] : [saved]),
    savedPlace(quickstart, quickstart?.path ?? ""),
  ];
}

/** An empty one is a variable of the shell that is not set: no other address may take its place. */
function flagOf(options: Options, name: string): string | undefined {
  const text = options.text(name);
  if (text === "") throw new UsageError(`--${name}: expected a value, found nothing`);
  return text;
}

function givenPlace(binding: Binding, read: (field: Field) => [string | undefined, string]): Place {
  return {
    binding,
    valueOf: (field) => {
      const [value, source] = read(field);
      return value === undefined || value === "" ? undefined : { value, source, isGiven: true };
    },
  };
}

function savedPlace(values: Profile | undefined, source: string): Place {
  return {
    binding: "always",
    valueOf: (field) => {
      const value = values?.[field];
      return value === undefined ? undefined : { value, source, isGiven: false };
    },
  };
}

function profileOf(
  options: Options,
  host: ProgramHost,
): { readonly values: Profile; readonly source: string } | undefined {
  const path = profilesPath(host);
  const { current, profiles } = readProfiles(path);
  const named = options.text("profile") ?? host.env["BIGPEER_PROFILE"];
  const name = named ?? current;
  if (name === undefined) return undefined;
  const values = Object.hasOwn(profiles, name) ? profiles[name] : undefined;
  if (values !== undefined) return { values, source: `profile ${name}` };
  if (named === undefined) return undefined;
  const known = Object.keys(profiles).join(", ") || "none";
  throw new UsageError(`no profile named "${name}" in ${path}; there are: ${known}`);
}

const HOW = "run bigpeer start in this folder, set BIGPEER_URL, or run bigpeer login";

/** Throws CommandFailure when no address of a server is known. */
export function requireUrl({ url }: Addresses): string {
  if (url !== undefined) return url.value;
  throw new CommandFailure(`no server is known: ${HOW}`, EXIT.unreachable);
}

/** Throws CommandFailure when no management API is known. */
export function requireManagementUrl({ managementUrl }: Addresses): string {
  if (managementUrl !== undefined) return managementUrl.value;
  const how = "set BIGPEER_MANAGEMENT_URL, or save it with bigpeer login --management-url";
  const message = `no management API of this server is known: ${how}`;
  throw new CommandFailure(message, EXIT.unreachable);
}

/** A client of the data API. Throws CommandFailure when no server is known. */
export function dataClient(
  addresses: Addresses,
  { signal }: Pick<ProgramHost, "signal">,
  options: Pick<ClientOptions, "timeoutMs" | "fetch"> = {},
): BigPeerClient {
  const url = requireUrl(addresses);
  const { key, managementUrl } = addresses;
  return new BigPeerClient({
    url,
    key: key?.value,
    managementUrl: managementUrl?.value,
    signal,
    ...options,
  });
}

/** A client whose `management` can be used. */
export function managementClient(
  addresses: Addresses,
  { env, signal }: Pick<ProgramHost, "env" | "signal">,
): BigPeerClient {
  const managementUrl = requireManagementUrl(addresses);
  const { url, key, adminToken } = addresses;
  return new BigPeerClient({
    url: url?.value ?? managementUrl,
    key: key?.value,
    managementUrl,
    adminToken: adminToken?.value,
    namespace: env["BIGPEER_NAMESPACE"] || undefined,
    bigPeer: env["BIGPEER_NAME"] || undefined,
    signal,
  });
}
