/**
 * Deleted app resources: `…/deletedApp` lists the deleted apps whose data still exists, and
 * `…/deletedApp/{app_id}/restore` restores one (M30). Ids identify them: names may be reused.
 */

import type { Value } from "@bigpeer/protocol";
import type { DeletedApp } from "../registry/app.ts";
import { showTime } from "../validation/time-text.ts";
import { showApp } from "./apps-resource.ts";
import type { ManagementCall, Resource } from "./management-endpoint.ts";
import { pageBody } from "./page.ts";

export const DELETED_APP_RESOURCES: readonly Resource[] = [
  { name: "manage_deleted_apps", path: "/deletedApp", methods: { GET: listDeletedApps } },
  {
    name: "restore_deleted_app",
    path: "/deletedApp/{app_id}/restore",
    methods: { POST: restoreApp },
  },
];

function listDeletedApps({ registry, query, host }: ManagementCall): Value {
  const { appGraceMs } = host.config;
  const left = registry.apps.deleted().filter(({ isBeingRemoved }) => isBeingRemoved !== true);
  return pageBody(left.toSorted(byName), query, ({ id, name, deletedAt }) => {
    return {
      name,
      appId: id,
      deletedAt: showTime(deletedAt),
      removedAfter: showTime(deletedAt + appGraceMs),
    };
  });
}

async function restoreApp(call: ManagementCall): Promise<Value> {
  return showApp(await call.registry.apps.restore(call.parameter("app_id"), call.author));
}

/** Apps with the same name are ordered by the time of deletion. */
function byName(a: DeletedApp, b: DeletedApp): number {
  if (a.name !== b.name) return a.name < b.name ? -1 : 1;
  return a.deletedAt - b.deletedAt;
}
