/**
 * `bigpeer app`: manages the apps of a server.
 */

import type { Management } from "@bigpeer/client";
import type { ValueObject } from "@bigpeer/protocol";
import { findAddresses, managementClient } from "../connection/addresses.ts";
import type { Call, CommandDefinition } from "../program/definition.ts";
import { parameterOf } from "../shell/parameter.ts";
import { confirm } from "../terminal/confirm.ts";
import { MANAGEMENT, OUTPUT, own, YES } from "./shared-options.ts";
import { named } from "./unreachable.ts";

const NAME = { name: "app", meaning: "name or id of the app" };

export const APP_COMMAND: CommandDefinition = {
  name: "app",
  meaning: "list, create and delete apps",
  group: "Manage a server",
  examples: ["app list", "app create shop", "app show shop", "app set shop strictV4=true"],
  commands: [
    {
      name: "list",
      meaning: "list the apps",
      examples: ["app list", "app list --deleted", "app list --format json"],
      groups: [
        own({ name: "deleted", meaning: "deleted apps that can be restored" }),
        MANAGEMENT,
        OUTPUT,
      ],
      run: list,
    },
    {
      name: "create",
      meaning: "create an app",
      examples: ["app create shop"],
      words: [{ name: "name", meaning: "name of the new app" }],
      groups: [
        own({ name: "id", argument: "UUID", meaning: "id of the app; default: a random one" }),
        MANAGEMENT,
        OUTPUT,
      ],
      run: create,
    },
    {
      name: "show",
      meaning: "show an app with its providers and settings",
      examples: ["app show shop --format json"],
      words: [NAME],
      groups: [MANAGEMENT, OUTPUT],
      run: show,
    },
    {
      name: "set",
      meaning: "change settings of an app",
      examples: ["app set shop strictV4=true", "app set shop unknownCollectionsAreEmpty=false"],
      words: [NAME, { name: "settings", meaning: "settings as name=value", isList: true }],
      groups: [MANAGEMENT, OUTPUT],
      run: set,
    },
    {
      name: "delete",
      meaning: "delete an app; it can be restored for a while",
      examples: ["app delete shop", "app delete shop --yes  # without a question"],
      words: [NAME],
      groups: [own(YES), MANAGEMENT],
      run: remove,
    },
    {
      name: "restore",
      meaning: "restore a deleted app",
      examples: ["app restore 3a4a437e-2f4e-4509-861f-2a4ba2e4c3f7"],
      words: [{ name: "id", meaning: "id of the app, from app list --deleted" }],
      groups: [MANAGEMENT],
      run: restore,
    },
  ],
};

function managementOf({ options, host }: Call): Management {
  return managementClient(findAddresses(options, host), host).management;
}

async function list(call: Call): Promise<void> {
  const management = managementOf(call);
  const isDeleted = call.options.has("deleted");
  const { data } = isDeleted ? await management.listDeletedApps() : await management.listApps();
  await call.output.rows(data, { empty: "there is none" });
}

async function create(call: Call): Promise<void> {
  const name = call.words[0] ?? "";
  const app = await managementOf(call).createApp({ name, appId: call.options.text("id") });
  await call.output.item(named(app));
  call.output.note(`next: bigpeer key create NAME --app ${name}`);
}

async function show(call: Call): Promise<void> {
  const management = managementOf(call);
  const name = call.words[0] ?? "";
  const [app, settings] = [await management.getApp(name), await management.getSettings(name)];
  await call.output.item({ ...(named(app) as ValueObject), settings });
}

async function set(call: Call): Promise<void> {
  const [name = "", ...settings] = call.words;
  const change = Object.fromEntries(settings.map(parameterOf));
  const changed = await managementOf(call).updateSettings(name, change);
  await call.output.item(changed);
}

async function remove(call: Call): Promise<void> {
  const name = call.words[0] ?? "";
  await confirm(call, `Delete the app ${name} with all its documents?`);
  await managementOf(call).deleteApp(name);
  call.output.note(`deleted the app ${name}; bigpeer app list --deleted shows how long it is kept`);
}

async function restore(call: Call): Promise<void> {
  const id = call.words[0] ?? "";
  await managementOf(call).restoreApp(id);
  call.output.note(`restored the app ${id}`);
}
