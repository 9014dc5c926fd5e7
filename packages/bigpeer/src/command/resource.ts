/**
 * Commands for a resource of an app that is configured in JSON: list, show, set and delete. Providers
 * and replications have them.
 */

import type { Management } from "@bigpeer/client";
import type { Value, ValueObject } from "@bigpeer/protocol";
import { findAddresses, managementClient } from "../connection/addresses.ts";
import type { Call, CommandDefinition } from "../program/definition.ts";
import { confirm } from "../terminal/confirm.ts";
import { readObject } from "./json-argument.ts";
import { APP, MANAGEMENT, OUTPUT, own, YES } from "./shared-options.ts";
import { named } from "./unreachable.ts";

export interface Resource {
  /** Name of the command, such as `provider`. */
  readonly name: string;
  readonly meaning: string;
  /** A configuration in the examples. */
  readonly example: { readonly name: string; readonly config: string };
  readonly list: (management: Management, app: string) => Promise<readonly unknown[]>;
  readonly show: (management: Management, app: string, name: string) => Promise<unknown>;
  readonly create: (
    management: Management,
    app: string,
    name: string,
    config: ValueObject,
  ) => Promise<unknown>;
  readonly remove: (management: Management, app: string, name: string) => Promise<unknown>;
  /** A row for people. */
  readonly summary: (item: never) => Value;
  readonly more?: readonly CommandDefinition[];
}

export function resourceCommand(resource: Resource): CommandDefinition {
  const { name, meaning, example, more = [] } = resource;
  const word = { name: "name", meaning: `name of the ${name}` };
  return {
    name,
    meaning,
    group: "Manage a server",
    examples: [`${name} list`, `${name} create ${example.name} '${example.config}'`],
    commands: [
      {
        name: "list",
        meaning: `list the ${name}s of an app`,
        examples: [`${name} list`, `${name} list --app shop --format json`],
        groups: [own(APP), MANAGEMENT, OUTPUT],
        run: (call) => list(resource, call),
      },
      {
        name: "show",
        meaning: `show a ${name}`,
        examples: [`${name} show ${example.name}`],
        words: [word],
        groups: [own(APP), MANAGEMENT, OUTPUT],
        run: (call) => show(resource, call),
      },
      {
        name: "create",
        meaning: `create a ${name}`,
        examples: [
          `${name} create ${example.name} '${example.config}'`,
          `${name} create ${example.name} @${name}.json`,
        ],
        words: [word, { name: "config", meaning: "configuration in JSON; @FILE reads a file" }],
        groups: [own(APP), MANAGEMENT, OUTPUT],
        run: (call) => create(resource, call),
      },
      {
        name: "delete",
        meaning: `delete a ${name}`,
        examples: [`${name} delete ${example.name} --yes`],
        words: [word],
        groups: [own(APP, YES), MANAGEMENT],
        run: (call) => remove(resource, call),
      },
      ...more,
    ],
  };
}

/** The management API, and the app that the command names. */
export function managedApp({ options, host }: Call): { management: Management; app: string } {
  const addresses = findAddresses(options, host);
  return { management: managementClient(addresses, host).management, app: addresses.app };
}

async function list(resource: Resource, call: Call): Promise<void> {
  const { management, app } = managedApp(call);
  const { output } = call;
  const items = await resource.list(management, app);
  const isForPeople = output.format === "table" || output.format === "csv";
  const rows = isForPeople ? items.map((item) => resource.summary(item as never)) : items;
  await output.rows(rows as readonly Value[], { empty: "there is none" });
}

async function show(resource: Resource, call: Call): Promise<void> {
  const { management, app } = managedApp(call);
  await call.output.item(named(await resource.show(management, app, call.words[0] ?? "")));
}

async function create(resource: Resource, call: Call): Promise<void> {
  const { management, app } = managedApp(call);
  const [name = "", text = ""] = call.words;
  const config = await readObject("config", text, call.host);
  await call.output.item(named(await resource.create(management, app, name, config)));
}

async function remove(resource: Resource, call: Call): Promise<void> {
  const { management, app } = managedApp(call);
  const name = call.words[0] ?? "";
  await confirm(call, `Delete the ${resource.name} ${name} of the app ${app}?`);
  await resource.remove(management, app, name);
  call.output.note(`deleted the ${resource.name} ${name}`);
}
