/**
 * Addresses: which server a command calls, and with which credential, together with where each
 * value comes from.
 *
 * An option comes before a variable, that before the file `.env`, that before a profile, and that
 * before a local `quickstart.json`. The key of a profile or of a quickstart file is only used with
 * the address in the same place: a key never goes to another server.
 */

import { BigPeerClient } from "@bigpeer/client";
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

interface Place {
  readonly valueOf: (field: Field) => Sourced | undefined;
  /** Whether its credentials belong to its addresses. */
  readonly isBound: boolean;
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
  const url = addressIn(places, "url");
  const managementUrl = addressIn(places, "managementUrl");
  return {
    url,
    key: credentialIn(places, "key", url),
    managementUrl,
    adminToken: credentialIn(places, "adminToken", managementUrl),
    app: flagOf(options, "app") ?? "default",
  };
}

function addressIn(places: readonly Place[], field: "url" | "managementUrl"): Sourced | undefined {
  for (const { valueOf } of places) {
    const found = valueOf(field);
    if (found === undefined) continue;
    checkAddress(found);
    return found;
  }
  return undefined;
}

function credentialIn(
  places: readonly Place[],
  field: "key" | "adminToken",
  address: Sourced | undefined,
): Sourced | undefined {
  const addressField = field === "key" ? "url" : "managementUrl";
  for (const { valueOf, isBound } of places) {
    const found = valueOf(field);
    if (found === undefined) continue;
    const own = valueOf(addressField)?.value;
    if (!isBound || (own !== undefined && withoutSlash(own) === withoutSlash(address?.value ?? "")))
      return found;
  }
  return undefined;
}

function withoutSlash(url: string): string {
  return url.replace(/\/+$/, "");
}

function checkAddress({ value, source }: Sourced): void {
  if (/^https?:\/\/[^\s/]+/.test(value) && URL.canParse(value)) return;
  const message = `expected an address such as http://127.0.0.1:8080, found "${value}"`;
  throw new UsageError(`${source}: ${message}`);
}

function placesOf(options: Options, host: ProgramHost): Place[] {
  const file = readEnvironmentFile(host.folder);
  const profile = profileOf(options, host);
  const quickstart = findQuickstart(host);
  return [
    freePlace((field) => [flagOf(options, FLAGS[field]), `--${FLAGS[field]}`]),
    freePlace((field) => [host.env[VARIABLES[field]], VARIABLES[field]]),
    freePlace((field) => [file.get(VARIABLES[field]), `${VARIABLES[field]} in .env`]),
    boundPlace(profile?.values, profile?.source ?? ""),
    boundPlace(quickstart, quickstart?.path ?? ""),
  ];
}

/** An empty one is a variable of the shell that is not set: no other address may take its place. */
function flagOf(options: Options, name: string): string | undefined {
  const text = options.text(name);
  if (text === "") throw new UsageError(`--${name}: expected a value, found nothing`);
  return text;
}

function freePlace(read: (field: Field) => [string | undefined, string]): Place {
  return {
    isBound: false,
    valueOf: (field) => {
      const [value, source] = read(field);
      return value === undefined || value === "" ? undefined : { value, source };
    },
  };
}

function boundPlace(values: Profile | undefined, source: string): Place {
  return {
    isBound: true,
    valueOf: (field) => {
      const value = values?.[field];
      return value === undefined ? undefined : { value, source };
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
  const message = "no management API is known: set BIGPEER_MANAGEMENT_URL, or run bigpeer login";
  throw new CommandFailure(message, EXIT.unreachable);
}

/** A client of the data API. Throws CommandFailure when no server is known. */
export function dataClient(
  addresses: Addresses,
  { signal }: Pick<ProgramHost, "signal">,
  timeoutMs?: number,
): BigPeerClient {
  const url = requireUrl(addresses);
  const { key, managementUrl } = addresses;
  return new BigPeerClient({
    url,
    key: key?.value,
    managementUrl: managementUrl?.value,
    timeoutMs,
    signal,
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
