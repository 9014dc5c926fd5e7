/**
 * Apps: `…/app` and `…/app/{app}`.
 */

import { PeerError, type Value } from "@bigpeer/protocol";
import { readProviders, shownProviders } from "../auth/auth-provider.ts";
import { describeError } from "../log.ts";
import type { App } from "../registry/app.ts";
import { kindOf } from "../schema-fault.ts";
import type { ManagementCall, Resource } from "./management-endpoint.ts";
import { pageBody } from "./page.ts";
import { checkAppChange, checkNewApp } from "./schemas.ts";

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

export const APP_RESOURCES: readonly Resource[] = [
  {
    name: "manage_apps",
    path: "/app",
    methods: {
      // Without the providers: they may be long, and an app alone shows them.
      GET: ({ registry, query }) =>
        pageBody(registry.apps.list(), query, ({ name, id }) => ({ name, appId: id })),
      POST: createApp,
    },
  },
  {
    name: "manage_app",
    path: "/app/{app}",
    methods: {
      GET: (call) => showApp(call.registry.apps.named(call.parameter("app"))),
      PUT: changeApp,
      PATCH: changeApp,
      DELETE: deleteApp,
    },
  },
];

export function showApp({ name, id, authProviders }: App): Value {
  return { name, appId: id, authProviders: shownProviders(authProviders) };
}

async function createApp(call: ManagementCall): Promise<Value> {
  const { name, appId, authProviders } = await call.body(checkNewApp);
  const app = await call.registry.apps.create(
    {
      name,
      ...(typeof appId === "string" && { id: checkAppId(appId) }),
      ...(authProviders && { authProviders: readProviders(authProviders, {}, call.random) }),
    },
    call.author,
  );
  return showApp(app);
}

async function changeApp(call: ManagementCall): Promise<Value> {
  const { authProviders } = await call.body(checkAppChange);
  const app = await call.registry.apps.setProviders(
    call.parameter("app"),
    (before) => readProviders(authProviders, before, call.random),
    call.author,
  );
  return showApp(app);
}

/** The app is gone when the registry does not know it; that its store closes is the server's affair. */
async function deleteApp(call: ManagementCall): Promise<Value> {
  const { apps, log } = call.host;
  const { id } = await call.registry.apps.remove(call.parameter("app"), call.author);
  try {
    await apps.closeApp(id);
  } catch (error) {
    log("error", `expected to close the deleted app ${id}: ${describeError(error)}`);
  }
  return null;
}

function checkAppId(given: string): string {
  if (UUID.test(given)) return given.toLowerCase();
  throw new PeerError("value.invalid", `expected a UUID, found ${kindOf(given)}`, { at: "appId" });
}
