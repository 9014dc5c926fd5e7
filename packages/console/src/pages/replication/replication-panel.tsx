/**
 * One replication: what it pulls, its links with their states, and the queries of each link.
 */
import type { VNode } from "../../kit/preact.ts";
import { showDialog } from "../../route/open-dialog.ts";
import { IconButton } from "../../ui/button.tsx";
import { Facts } from "../../ui/facts.tsx";
import { StateBadge } from "../../ui/state-badge.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { Time } from "../../ui/time.tsx";
import { countText, plural, sizeText } from "../../values/show-value.ts";
import { lagText } from "../../values/time-text.ts";
import {
  type Link,
  type LinkSubscription,
  linkWords,
  pulledText,
  type Replication,
  type ReplicationStatus,
} from "./link-words.ts";

export interface ReplicationPanelProps {
  readonly replication: Replication;
  readonly status: ReplicationStatus | undefined;
  readonly onRemove: () => void;
}

export function ReplicationPanel({ replication, status, onRemove }: ReplicationPanelProps): VNode {
  const { name, connections, queriesByCollection, attachments = "onDemand" } = replication;
  const missing = status?.missingAttachments ?? 0;
  const links = status?.links ?? [];
  return (
    <section class="card" aria-label={`Link ${name}`}>
      <div class="section-head">
        <h2 class="grow">{name}</h2>
        <IconButton label={`Edit ${name}`} icon="edit" onClick={() => showDialog("edit", name)} />
        <IconButton label={`Remove ${name}`} icon="trash" onClick={onRemove} />
      </div>
      <Facts
        facts={[
          ["Pulls", <code key="pulls">{pulledText(queriesByCollection)}</code>],
          [
            "Calls",
            connections.length === 0
              ? "no address; it waits until the other side calls"
              : connections.join(", "),
          ],
          ["Attachments", attachments === "eager" ? "with their documents" : "on demand"],
          ["Missing attachments", missing === 0 ? undefined : countText(missing)],
        ]}
      />
      <Table
        label={`Links of ${name}`}
        columns={
          links.every(isLinked) ? LINK_COLUMNS.filter(({ title }) => title !== WHY) : LINK_COLUMNS
        }
        rows={links}
        keyOf={({ direction, address, since }) => `${direction} ${address} ${since}`}
        empty={<p class="muted">No Big Peer is linked yet.</p>}
      />
      <Queries links={links} />
    </section>
  );
}

/** The column that only links in trouble have something for. */
const WHY = "Why";

function isLinked(link: Link): boolean {
  return linkWords(link, Date.now()).kind === "ok";
}

const LINK_COLUMNS: readonly Column<Link>[] = [
  {
    title: "Other side",
    cell: ({ direction, address }) => (
      <>
        <span class="muted">{direction === "dial" ? "to " : "from "}</span>
        <code>{address}</code>
      </>
    ),
  },
  {
    title: "State",
    cell: (link) => {
      const { kind, text, title } = linkWords(link, Date.now());
      return (
        <StateBadge kind={kind} title={title}>
          {text}
        </StateBadge>
      );
    },
  },
  { title: "Lag", isNumber: true, cell: ({ lag }) => lagText(lag) },
  { title: "Since", cell: ({ since }) => <Time at={since} /> },
  {
    title: WHY,
    cell: (link) => {
      const { kind, title } = linkWords(link, Date.now());
      return isLinked(link) ? (
        ""
      ) : (
        <span class={kind === "err" ? "fault wrap-text" : "muted wrap-text"}>{title}</span>
      );
    },
  },
  {
    title: "Pulled",
    isNumber: true,
    cell: ({ pulled }) => volumeText(pulled),
  },
  {
    title: "Served",
    isNumber: true,
    cell: ({ served }) => volumeText(served),
  },
  { title: "Quarantined", isNumber: true, cell: ({ pulled }) => countText(pulled.stale) },
];

function volumeText({ documents, bytes }: { documents: number; bytes: number }): string {
  return `${plural(documents, "document")}, ${sizeText(bytes)}`;
}

interface PulledQuery extends LinkSubscription {
  readonly address: string;
}

function Queries({ links }: { readonly links: readonly Link[] }): VNode | null {
  const rows = links.flatMap(({ address, subscriptions }) =>
    subscriptions.map((each): PulledQuery => ({ ...each, address })),
  );
  if (rows.length === 0) return null;
  return (
    <Table
      label="Pulled queries"
      columns={QUERY_COLUMNS}
      rows={rows}
      keyOf={({ address, collection, query }) => `${address} ${collection} ${query}`}
    />
  );
}

const QUERY_COLUMNS: readonly Column<PulledQuery>[] = [
  {
    title: "State",
    cell: ({ state }) => (
      <StateBadge kind={state === "live" ? "ok" : state === "filling" ? "busy" : "warn"}>
        {state}
      </StateBadge>
    ),
  },
  { title: "Collection", cell: ({ collection }) => collection },
  { title: "Query", cell: ({ query }) => <code>{query}</code> },
  { title: "From", cell: ({ address }) => <code>{address}</code> },
  {
    title: "Up to transaction",
    isNumber: true,
    cell: ({ transaction }) => countText(transaction),
  },
];
