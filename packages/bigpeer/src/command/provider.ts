/**
 * `bigpeer provider`: manages the auth providers of an app.
 */

import type { Provider } from "@bigpeer/client";
import type { CommandDefinition } from "../program/definition.ts";
import { resourceCommand } from "./resource.ts";

export const PROVIDER: CommandDefinition = resourceCommand({
  name: "provider",
  meaning: "list, create and delete the auth providers of an app",
  example: {
    name: "users",
    config: '{"type": "jwt", "jwksUrl": "https://login.example.com/keys"}',
  },
  list: async (management, app) => (await management.listProviders(app)).data,
  show: (management, app, name) => management.getProvider(app, name),
  create: async (management, app, name, config) => {
    await management.createProvider(app, { name, config });
    return management.getProvider(app, name);
  },
  remove: (management, app, name) => management.deleteProvider(app, name),
  summary: ({ name, config }: Provider) => ({ name, type: config.type }),
});
