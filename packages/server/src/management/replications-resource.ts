/**
 * Replication resources: `…/bigPeerReplication` and `…/bigPeerReplication/{replication}` list,
 * create, change and delete replications of an app. `/status` reports each outbound address and
 * each inbound link (M34).
 *
 * Names are unique in the Big Peer, so a replication is found by its name alone. Then it either
 * belongs to the app of the path or not (M26); whether that app exists makes no difference.
 */

import type { Value } from "@bigpeer/protocol";
import { linkStatus } from "../link/link-status.ts";
import type { Replication } from "../registry/replications.ts";
import type { ManagementCall, Resource } from "./management-endpoint.ts";
import { pageBody } from "./page.ts";
import { checkNewReplication, checkReplicationChange } from "./schemas.ts";

/** Not the id of any app. */
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
  {
    name: "replication_status",
    path: "/app/{app}/bigPeerReplication/{replication}/status",
    methods: {
      GET: async (call) => {
        const replication = call.registry.replications.get(...nameOf(call));
        return (call.host.linkStatus ?? linkStatus)(replication);
      },
    },
  },
];

/** Default values are not shown. */
function showReplication(replication: Replication): Value {
  const { name, connections, queriesByCollection, attachments } = replication;
  const shown = { name, connections, queriesByCollection };
  return attachments === undefined ? shown : { ...shown, attachments };
}

async function createReplication(call: ManagementCall): Promise<Value> {
  const appId = call.appId();
  const given = await call.body(checkNewReplication);
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
