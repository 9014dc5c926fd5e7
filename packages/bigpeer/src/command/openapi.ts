/**
 * `bigpeer openapi`: prints the OpenAPI document of a server.
 */

import { findAddresses, requireManagementUrl, requireUrl } from "../connection/addresses.ts";
import type { Call, CommandDefinition } from "../program/definition.ts";
import { CommandFailure, EXIT } from "../program/failure.ts";
import { BOTH, own } from "./shared-options.ts";
import { notOurs, unreachable } from "./unreachable.ts";

export const OPENAPI: CommandDefinition = {
  name: "openapi",
  meaning: "print the OpenAPI document of a server",
  group: "Look at a server",
  examples: ["openapi > bigpeer.json", "openapi --management > management.json"],
  groups: [
    own(
      { name: "management", meaning: "that of the management API" },
      { name: "output", short: "o", argument: "FILE", meaning: "write it to a file" },
    ),
    BOTH,
  ],
  run: openapi,
};

async function openapi({ options, host, output }: Call): Promise<void> {
  const addresses = findAddresses(options, host);
  const isManagement = options.has("management");
  const base = isManagement ? requireManagementUrl(addresses) : requireUrl(addresses);
  const url = `${base.replace(/\/+$/, "")}/openapi.json`;
  const { adminToken } = addresses;
  const isSecret = isManagement && adminToken !== undefined;
  const headers = isSecret ? { authorization: `Bearer ${adminToken.value}` } : {};
  const { response, text } = await fetch(url, { headers, signal: host.signal })
    .then(async (answer) => ({ response: answer, text: await answer.text() }))
    .catch((error: unknown) => {
      host.signal.throwIfAborted();
      throw unreachable(url, error);
    });
  if (!response.ok) throw new CommandFailure(`${url} answered ${response.status}`, EXIT.failed);
  if (!isDocument(text)) throw notOurs(url, response.status);
  await output.write(text.endsWith("\n") ? text : `${text}\n`);
}

function isDocument(text: string): boolean {
  try {
    const found = JSON.parse(text) as { readonly openapi?: unknown } | null;
    return typeof found?.openapi === "string";
  } catch {
    return false;
  }
}
