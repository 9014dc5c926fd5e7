/**
 * Replication secret resource: `…/replicationSecret` sets and removes the replication secret of an
 * app (M35). The secret is accepted and never shown.
 */

import type { Resource } from "./management-endpoint.ts";
import { checkReplicationSecret } from "./schemas.ts";

export const REPLICATION_SECRET_RESOURCES: readonly Resource[] = [
  {
    name: "manage_replication_secret",
    path: "/app/{app}/replicationSecret",
    methods: {
      PUT: async (call) => {
        const { secret } = await call.body(checkReplicationSecret);
        await call.registry.replicationSecrets.set(call.appId(), secret, call.author);
        return null;
      },
      DELETE: async (call) => {
        await call.registry.replicationSecrets.remove(call.appId(), call.author);
        return null;
      },
    },
  },
];
