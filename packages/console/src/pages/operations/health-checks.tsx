/**
 * The checks of the server, its version, and the nodes of its cluster.
 */
import { request } from "../../api/request.ts";
import { managed, session } from "../../api/session.ts";
import type { VNode } from "../../kit/preact.ts";
import { useLoad } from "../../kit/use-load.ts";
import { ErrorMessage } from "../../ui/error-message.tsx";
import { Facts } from "../../ui/facts.tsx";
import { StateBadge } from "../../ui/state-badge.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { durationText } from "../../values/time-text.ts";

interface Check {
  readonly name: string;
  readonly isOk: boolean;
  readonly detail: string;
}

interface Health {
  readonly status: string;
  readonly isOk: boolean;
  readonly checks: readonly Check[];
}

interface Node {
  readonly node: string;
  readonly url: string;
  readonly version: string;
  readonly isAlive: boolean;
  readonly heardMs: number;
  readonly stores?: readonly unknown[];
}

interface Cluster {
  readonly cluster: string | null;
  readonly nodes: readonly Node[];
}

const POLL_MS = 10_000;

export function HealthChecks(): VNode {
  const { value, error, reload } = useLoad(
    "health",
    (signal) => request<Health>(managed("/health"), { signal }),
    { pollMs: POLL_MS },
  );
  return (
    <>
      <ServerFacts health={value} />
      <ErrorMessage error={error} onRetry={() => void reload()} />
      {value === undefined ? null : (
        <Table
          label="Health checks"
          columns={CHECK_COLUMNS}
          rows={value.checks}
          keyOf={({ name }) => name}
        />
      )}
      <ClusterNodes />
    </>
  );
}

function ServerFacts({ health }: { readonly health: Health | undefined }): VNode {
  const { name, version, dataUrl } = session.value ?? {};
  return (
    <Facts
      facts={[
        ["Server", name],
        ["Version", version],
        ["Data API", dataUrl],
        [
          "State",
          health === undefined ? undefined : (
            <StateBadge key="state" kind={health.isOk ? "ok" : "warn"}>
              {health.isOk ? health.status : `${health.status}, but a check has failed`}
            </StateBadge>
          ),
        ],
      ]}
    />
  );
}

const CHECK_COLUMNS: readonly Column<Check>[] = [
  { title: "Check", cell: ({ name }) => name },
  {
    title: "State",
    cell: ({ isOk }) => (
      <StateBadge kind={isOk ? "ok" : "err"}>{isOk ? "ok" : "failed"}</StateBadge>
    ),
  },
  { title: "Detail", cell: ({ detail }) => detail },
];

/** Nothing for a server that is alone. */
function ClusterNodes(): VNode | null {
  const { value } = useLoad(
    "cluster",
    (signal) => request<Cluster>(managed("/cluster"), { signal }),
    { pollMs: POLL_MS },
  );
  if (value === undefined || value.cluster === null) return null;
  return (
    <>
      <h2>Cluster {value.cluster}</h2>
      <Table
        label="Nodes of the cluster"
        columns={NODE_COLUMNS}
        rows={value.nodes}
        keyOf={({ node }) => node}
      />
    </>
  );
}

const NODE_COLUMNS: readonly Column<Node>[] = [
  { title: "Node", cell: ({ node }) => node },
  {
    title: "State",
    cell: ({ isAlive }) => (
      <StateBadge kind={isAlive ? "ok" : "err"}>{isAlive ? "alive" : "silent"}</StateBadge>
    ),
  },
  { title: "Heard", cell: ({ heardMs }) => `${durationText(heardMs)} ago` },
  { title: "Address", cell: ({ url }) => <code>{url}</code> },
  { title: "Version", cell: ({ version }) => version },
  { title: "Open stores", isNumber: true, cell: ({ stores = [] }) => stores.length },
];
