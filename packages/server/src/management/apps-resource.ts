/**
 * App resources: `…/app` and `…/app/{app}` list, create, change and delete apps.
 */

import type { Value } from "@bigpeer/protocol";
import { describeError } from "../observability/log.ts";
import type { App } from "../registry/app.ts";
import { readProviders, shownProviders } from "../registry/auth-provider.ts";
import type { ManagementCall, Resource } from "./management-endpoint.ts";
import { pageBody } from "./page.ts";
import { checkAppChange, checkNewApp } from "./schemas.ts";

export const APP_RESOURCES: readonly Resource[] = [
  {
    name: "manage_apps",
    path: "/app",
    methods: {
      // Without the providers, which may be long; `…/app/{app}` shows them.
      GET: ({ registry, query }) =>
        pageBody(registry.apps.names(), query, ({ name, id }) => ({ name, appId: id })),
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
      ...(typeof appId === "string" && { id: appId }),
      ...(authProviders && { authProviders: readProviders(authProviders, {}, call.random) }),
    },
    call.author,
  );
  return showApp(app);
}

async function changeApp(call: ManagementCall): Promise<Value> {
  const { name, appId, authProviders } = await call.body(checkAppChange);
  const named = call.registry.apps.named(call.parameter("app"));
  call.checkSame(name, named.name, "name");
  call.checkSame(appId?.toLowerCase(), named.id, "appId");
  const app = await call.registry.apps.setProviders(
    named.name,
    (before) => readProviders(authProviders, before, call.random),
    call.author,
  );
  return showApp(app);
}

/** The app is gone with the commit; the answer does not wait for requests in progress. */
async function deleteApp(call: ManagementCall): Promise<Value> {
  const { apps, log } = call.host;
  const { id } = await call.registry.apps.remove(call.parameter("app"), call.author);
  void apps.closeApp(id).catch((error: unknown) => {
    log("error", `failed to close the deleted app ${id}: ${describeError(error)}`);
  });
  return null;
}
