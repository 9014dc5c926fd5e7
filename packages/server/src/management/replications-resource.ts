/**
 * Replications of an app: `…/bigPeerReplication` and `…/bigPeerReplication/{replication}`.
 *
 * Their names are unique in the Big Peer. So one is found by its name alone, and then it belongs to
 * the app of the path or it does not: whether there is such an app makes no difference.
 */

import type { Value } from "@bigpeer/protocol";
import type { Replication } from "../registry/replications.ts";
import type { ManagementCall, Resource } from "./management-endpoint.ts";
import { pageBody } from "./page.ts";
import { checkNewReplication, checkReplicationChange } from "./schemas.ts";

/** The id of no app. */
const NO_APP = "";

export const REPLICATION_RESOURCES: readonly Resource[] = [
  {
    name: "manage_replications",
    path: "/app/{app}/bigPeerReplication",
    methods: {
      GET: (call) => {
        return pageBody(call.registry.replications.list(call.appId()), call.query, showReplication);
      },
      POST: createReplication,
    },
  },
  {
    name: "manage_replication",
    path: "/app/{app}/bigPeerReplication/{replication}",
    methods: {
      GET: (call) => showReplication(call.registry.replications.get(...nameOf(call))),
      PUT: changeReplication,
      PATCH: changeReplication,
      DELETE: async (call) => {
        await call.registry.replications.remove(...nameOf(call), call.author);
        return null;
      },
    },
  },
];

function showReplication({ name, connections, queriesByCollection }: Replication): Value {
  return { name, connections, queriesByCollection };
}

async function createReplication(call: ManagementCall): Promise<Value> {
  const appId = call.appId();
  const { name, connections, queriesByCollection } = await call.body(checkNewReplication);
  const given = {
    name,
    connections: connections ?? [],
    queriesByCollection: queriesByCollection ?? {},
  };
  return showReplication(await call.registry.replications.create(appId, given, call.author));
}

async function changeReplication(call: ManagementCall): Promise<Value> {
  const { name: given, ...change } = await call.body(checkReplicationChange);
  const [appId, name] = nameOf(call);
  call.checkSame(given, name, "name");
  const { replications } = call.registry;
  return showReplication(await replications.update(appId, name, change, call.author));
}

function nameOf(call: ManagementCall): [appId: string, name: string] {
  const app = call.registry.apps.find(call.parameter("app"));
  return [app?.id ?? NO_APP, call.parameter("replication")];
}
