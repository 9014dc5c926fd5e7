/**
 * Cluster resource: `…/cluster` shows the nodes of the cluster, and what each of them does.
 */

import type { Resource } from "./management-endpoint.ts";

export const CLUSTER_RESOURCES: readonly Resource[] = [
  {
    name: "manage_cluster",
    path: "/cluster",
    methods: {
      // A server that is alone is a cluster of none.
      GET: async ({ host }) => (await host.clusterStatus?.()) ?? { cluster: null, nodes: [] },
    },
  },
];
