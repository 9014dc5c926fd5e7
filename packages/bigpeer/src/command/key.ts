/**
 * `bigpeer key`: manages the API keys of an app. The text of a key is shown once, on standard
 * output.
 */

import type { NewApiKey } from "@bigpeer/client";
import type { Value } from "@bigpeer/protocol";
import { findAddresses, managementClient } from "../connection/addresses.ts";
import type { Call, CommandDefinition } from "../program/definition.ts";
import { UsageError } from "../program/failure.ts";
import { confirm } from "../terminal/confirm.ts";
import { readObject } from "./json-argument.ts";
import { APP, MANAGEMENT, OUTPUT, own, YES } from "./shared-options.ts";
import { textual } from "./unreachable.ts";

const NAME = { name: "name", meaning: "name of the key" };

const EXPIRES = {
  name: "expires",
  argument: "TIME",
  meaning: "until when it is valid: 30d, 12h, or a time such as 2027-01-31T00:00:00Z",
};

export const KEY: CommandDefinition = {
  name: "key",
  meaning: "list, create, rotate and delete API keys",
  group: "Manage a server",
  examples: [
    "key list",
    "key create importer  # may read and write everything",
    "key create report --read-only --expires 30d",
    "key rotate importer --grace 3600",
    "key create importer > key.txt  # the text alone",
  ],
  commands: [
    {
      name: "list",
      meaning: "list the keys of an app, without their text",
      examples: ["key list", "key list --app shop"],
      groups: [own(APP), MANAGEMENT, OUTPUT],
      run: list,
    },
    {
      name: "create",
      meaning: "create a key and print its text, which is shown only here",
      examples: [
        "key create importer",
        "key create report --read-only --expires 30d",
        "key create till --permissions @till.json",
      ],
      words: [NAME],
      groups: [
        own(
          APP,
          { name: "read-only", meaning: "may read everything and write nothing" },
          {
            name: "permissions",
            argument: "JSON",
            meaning: "read, write and remoteQuery, as in the management API; @FILE reads a file",
          },
          EXPIRES,
          { name: "description", argument: "TEXT", meaning: "what it is for" },
        ),
        MANAGEMENT,
        OUTPUT,
      ],
      run: create,
    },
    {
      name: "rotate",
      meaning: "give a key a new text and print it",
      examples: ["key rotate importer --grace 3600"],
      words: [NAME],
      groups: [
        own(APP, {
          name: "grace",
          argument: "SECONDS",
          meaning: "how long the old text still works; default: 0",
        }),
        MANAGEMENT,
        OUTPUT,
      ],
      run: rotate,
    },
    {
      name: "delete",
      meaning: "delete a key; requests with it are refused at once",
      examples: ["key delete importer --yes"],
      words: [NAME],
      groups: [own(APP, YES), MANAGEMENT],
      run: remove,
    },
  ],
};

async function list({ options, host, output }: Call): Promise<void> {
  const addresses = findAddresses(options, host);
  const { data } = await managementClient(addresses, host).management.listApiKeys(addresses.app);
  const rows =
    output.format === "table" || output.format === "csv"
      ? data.map(({ name, expiresAt, lastUsedAt, description, permissions }) => ({
          name,
          read: accessText(permissions.read),
          write: accessText(permissions.write),
          expiresAt,
          lastUsedAt,
          description,
        }))
      : (data as unknown as readonly Value[]);
  await output.rows(rows, { empty: "there is none" });
}

function accessText(rule: {
  readonly everything: boolean;
  readonly queriesByCollection: object;
}): string {
  if (rule.everything) return "everything";
  return Object.keys(rule.queriesByCollection).join(", ") || "nothing";
}

async function create(call: Call): Promise<void> {
  const { words, options, host, output } = call;
  const addresses = findAddresses(options, host);
  const key: NewApiKey = {
    name: words[0] ?? "",
    permissions: await permissionsOf(call),
    expiresAt: expiryOf(options.text("expires")),
    description: options.text("description"),
  };
  const created = await managementClient(addresses, host).management.createApiKey(
    addresses.app,
    key,
  );
  await printText(call, textual(created));
  output.note("this text is not shown again; set BIGPEER_KEY to it, or run bigpeer login");
}

async function permissionsOf({ options, host }: Call): Promise<NewApiKey["permissions"]> {
  const given = options.text("permissions");
  if (given !== undefined) return readObject("--permissions", given, host);
  const everything = { everything: true, queriesByCollection: {} };
  const nothing = { everything: false, queriesByCollection: {} };
  const isReadOnly = options.has("read-only");
  return { read: everything, write: isReadOnly ? nothing : everything, remoteQuery: !isReadOnly };
}

const UNITS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Throws UsageError unless it is a duration or a time. */
function expiryOf(text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  const [, count, unit = ""] = /^(\d{1,6})([mhd])$/.exec(text) ?? [];
  if (count !== undefined) {
    return new Date(Date.now() + Number(count) * (UNITS[unit] ?? 0)).toISOString();
  }
  if (!Number.isNaN(Date.parse(text))) return text;
  throw new UsageError(`--expires: expected 30d, 12h or a time of RFC 3339, found "${text}"`);
}

async function rotate(call: Call): Promise<void> {
  const { words, options, host } = call;
  const addresses = findAddresses(options, host);
  const { management } = managementClient(addresses, host);
  const graceSeconds = options.number("grace", 0) ?? 0;
  const rotated = await management.rotateApiKey(addresses.app, words[0] ?? "", { graceSeconds });
  await printText(call, textual(rotated));
}

/** The text alone, so that a script can assign it, unless another form is named. */
async function printText({ words, output }: Call, text: string): Promise<void> {
  if (output.chosenFormat === undefined) await output.write(`${text}\n`);
  else await output.item({ name: words[0] ?? "", key: text });
}

async function remove(call: Call): Promise<void> {
  const { words, options, host, output } = call;
  const addresses = findAddresses(options, host);
  const name = words[0] ?? "";
  await confirm(call, `Delete the key ${name} of the app ${addresses.app}?`);
  await managementClient(addresses, host).management.deleteApiKey(addresses.app, name);
  output.note(`deleted the key ${name}`);
}
