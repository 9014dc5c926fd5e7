/**
 * `bigpeer login`: saves the address of a server and a key as a profile. The key comes from a
 * question, from standard input or from BIGPEER_KEY, so that the history of the shell has none.
 */

import { BigPeerClient } from "@bigpeer/client";
import { VARIABLES } from "../connection/addresses.ts";
import { type Profile, profilesPath, readProfiles, writeProfiles } from "../connection/profiles.ts";
import { findQuickstart } from "../connection/quickstart-file.ts";
import type { Call, CommandDefinition } from "../program/definition.ts";
import { CommandFailure, UsageError } from "../program/failure.ts";
import { isInteractive } from "../program/host.ts";
import { readInput } from "./json-argument.ts";
import { OUTPUT, own } from "./shared-options.ts";

export const LOGIN: CommandDefinition = {
  name: "login",
  meaning: "save the address of a server and a key as a profile",
  group: "Look at a server",
  examples: [
    "login https://peer.example.com  # asks for the key",
    "login https://peer.example.com --profile shop --key-stdin < key.txt",
    "login --list",
    "login --remove --profile shop",
  ],
  words: [{ name: "url", meaning: "address of the server", isOptional: true }],
  groups: [
    own(
      { name: "profile", argument: "NAME", meaning: "name of the profile; default: default" },
      { name: "key-stdin", meaning: "read the key from standard input" },
      { name: "management-url", argument: "URL", meaning: "address of the management API" },
      {
        name: "save-admin-token",
        meaning: `also save the admin token, which is in ${VARIABLES.adminToken}`,
      },
      { name: "list", meaning: "list the profiles" },
      { name: "remove", meaning: "remove a profile" },
      { name: "use", meaning: "make an existing profile the current one" },
    ),
    OUTPUT,
  ],
  run: login,
};

async function login(call: Call): Promise<void> {
  const { options } = call;
  if (options.has("list")) return list(call);
  if (options.has("remove")) return remove(call);
  if (options.has("use")) return use(call);
  return save(call);
}

async function list({ host, output }: Call): Promise<void> {
  const { current, profiles } = readProfiles(profilesPath(host));
  const rows = Object.entries(profiles).map(([name, { url, managementUrl, adminToken }]) => ({
    name,
    isCurrent: name === current,
    url: url ?? null,
    managementUrl: managementUrl ?? null,
    hasAdminToken: adminToken !== undefined,
  }));
  await output.rows(rows, { empty: "there are no profiles; bigpeer login URL makes one" });
}

async function remove({ host, options, output }: Call): Promise<void> {
  const path = profilesPath(host);
  const { current, profiles } = readProfiles(path);
  const name = options.text("profile") ?? current ?? "default";
  if (!Object.hasOwn(profiles, name)) throw new CommandFailure(`no profile named "${name}"`);
  const { [name]: _, ...rest } = profiles;
  writeProfiles(path, { current: current === name ? undefined : current, profiles: rest });
  output.note(`removed the profile ${name}`);
}

async function use({ host, options, output }: Call): Promise<void> {
  const path = profilesPath(host);
  const { profiles } = readProfiles(path);
  const name = options.required("profile");
  if (!Object.hasOwn(profiles, name)) throw new CommandFailure(`no profile named "${name}"`);
  writeProfiles(path, { current: name, profiles });
  output.note(`the current profile is ${name}`);
}

async function save(call: Call): Promise<void> {
  const { words, options, host, output } = call;
  const url = words[0] ?? (host.env[VARIABLES.url] || findQuickstart(host)?.url);
  if (url === undefined) throw new UsageError("expected the address of a server");
  const key = (await readKey(call)).trim();
  if (key === "") throw new UsageError("expected a key, found nothing");
  // A profile that does not work is of no use.
  await new BigPeerClient({ url, key, signal: host.signal }).execute(
    "SELECT 1 AS one FROM system:dual",
  );
  const path = profilesPath(host);
  const { profiles } = readProfiles(path);
  const name = options.text("profile") ?? "default";
  const before = Object.hasOwn(profiles, name) ? profiles[name] : undefined;
  const profile = profileOf(call, { url, key }, before);
  writeProfiles(path, { current: name, profiles: { ...profiles, [name]: profile } });
  output.note(`saved the profile ${name} in ${path}; try: bigpeer status`);
}

/** A new key of a server leaves what is saved about its management API. */
function profileOf(
  { options, host }: Call,
  access: { readonly url: string; readonly key: string },
  before: Profile | undefined,
): Profile {
  const saved = before?.url === access.url ? before : undefined;
  const managementUrl = options.text("management-url") ?? saved?.managementUrl;
  const isSameApi = managementUrl === saved?.managementUrl;
  const adminToken = options.has("save-admin-token")
    ? host.env[VARIABLES.adminToken]
    : isSameApi
      ? saved?.adminToken
      : undefined;
  return { ...access, managementUrl, adminToken };
}

async function readKey({ options, host }: Call): Promise<string> {
  if (options.has("key-stdin")) return readInput(host);
  const named = host.env[VARIABLES.key];
  if (named !== undefined && named !== "") return named;
  if (isInteractive(host)) return host.ask("API key: ", { isSecret: true });
  throw new UsageError(`expected a key: set ${VARIABLES.key}, or give it with --key-stdin`);
}
