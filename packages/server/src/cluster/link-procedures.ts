/**
 * Link procedures: what other nodes ask of the node that runs the links of an app: how its links
 * are, and to search a content at the Big Peers that it is linked with.
 */

import { isObject, type Value } from "@bigpeer/protocol";
import type { OpenApps } from "../apps/open-apps.ts";
import type { LinkReports } from "../link/link-status.ts";
import { linkStatus } from "../link/link-status.ts";
import type { Replicator } from "../link/replicator.ts";
import type { Registry } from "../registry/registry.ts";
import type { Procedure } from "./node-listener.ts";

/** The links of this node. */
export type NodeLinks = LinkReports & Pick<Replicator, "findContent" | "takePassed">;

export interface LinkProceduresHost {
  readonly links: NodeLinks;
  /** Throws `cluster.elsewhere` until the server is open. */
  readonly source: () => { readonly registry: Registry; readonly apps: OpenApps };
  /** The last entry of the log that an open store has. */
  readonly sequenceOf: (store: string) => number | undefined;
}

/** By their names. */
export function linkProcedures(host: () => LinkProceduresHost): { [name: string]: Procedure } {
  return {
    link_status: async (value) => {
      const { source, links } = host();
      const { app, name } = textsOf(value);
      return linkStatus(source().registry.replications.get(app ?? "", name ?? ""), links);
    },
    find_content: async (value) => {
      const { source, links, sequenceOf } = host();
      const { app = "", id = "" } = textsOf(value);
      const { apps } = source();
      const use = apps.tryUse(app) ?? (await apps.use(app));
      try {
        const outcome = await links.findContent(use.app, id);
        return { outcome, sequence: sequenceOf(app) ?? 0 };
      } finally {
        use.release();
      }
    },
  };
}

function textsOf(value: Value): { readonly [name: string]: string | undefined } {
  const fields = isObject(value) ? Object.entries(value) : [];
  return Object.fromEntries(
    fields.map(([name, given]) => [name, typeof given === "string" ? given : undefined]),
  );
}
