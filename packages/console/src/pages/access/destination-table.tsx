/**
 * The table of webhooks or sinks: what each delivers, to where, and its state.
 */
import type { VNode } from "../../kit/preact.ts";
import { showDialog } from "../../route/open-dialog.ts";
import { Button, IconButton } from "../../ui/button.tsx";
import { Empty } from "../../ui/empty.tsx";
import { StateBadge } from "../../ui/state-badge.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { Time } from "../../ui/time.tsx";
import { countText } from "../../values/show-value.ts";
import { lagText } from "../../values/time-text.ts";
import {
  type DestinationKind,
  deliveryWords,
  EVENTS,
  type WatchedDestination,
} from "./destination-form.ts";

export interface DestinationTableProps {
  readonly kind: DestinationKind;
  readonly rows: readonly WatchedDestination[];
  readonly onPause: (name: string) => void;
  readonly onRemove: (name: string) => void;
}

export function DestinationTable(props: DestinationTableProps): VNode {
  const { kind, rows } = props;
  return (
    <Table
      label={kind === "webhook" ? "Webhooks" : "Sinks"}
      rows={rows}
      keyOf={({ name }) => name}
      empty={
        <Empty title={`The app has no ${kind}.`}>
          <p>
            {kind === "webhook"
              ? "A webhook sends the changes of a collection to an address of yours."
              : "A sink publishes the changes of a collection to NATS JetStream."}
          </p>
        </Empty>
      }
      columns={[...COLUMNS, actions(props)]}
    />
  );
}

const COLUMNS: readonly Column<WatchedDestination>[] = [
  { title: "Name", cell: ({ name }) => name },
  {
    title: "State",
    cell: ({ status }) => {
      if (status === undefined) return "";
      const { kind, text, title } = deliveryWords(status, Date.now());
      return (
        <StateBadge kind={kind} title={title}>
          {text}
        </StateBadge>
      );
    },
  },
  {
    title: "Dead letters",
    isNumber: true,
    cell: ({ name, status }) => {
      const count = status?.deadLetters ?? 0;
      if (count === 0) return "0";
      return (
        <Button kind="quiet" onClick={() => showDialog("letters", name)}>
          {countText(count)} to see
        </Button>
      );
    },
  },
  {
    title: "Lag",
    isNumber: true,
    cell: ({ status }) => {
      const { transactions, seconds = 0 } = status?.lag ?? {};
      return lagText({ transactions: transactions ?? 0, seconds });
    },
  },
  { title: "To", cell: ({ url, servers = [] }) => <code>{url ?? servers.join(", ")}</code> },
  {
    title: "Changes",
    cell: ({ collection, query, events }) => {
      const which = events.length === EVENTS.length ? "" : ` · ${events.join(", ")}`;
      return `${collection}${query === null ? "" : ` where ${query}`}${which}`;
    },
  },
  { title: "Last delivery", cell: ({ status }) => <Time at={status?.lastDeliveryAt} /> },
];

function actions({ onPause, onRemove }: DestinationTableProps): Column<WatchedDestination> {
  return {
    title: "Actions",
    isTitleHidden: true,
    cell: ({ name, status }) => (
      <span class="row-actions">
        {status?.state === "paused" ? (
          <IconButton
            label={`Resume ${name}`}
            icon="play"
            onClick={() => showDialog("resume", name)}
          />
        ) : (
          <IconButton label={`Pause ${name}`} icon="pause" onClick={() => onPause(name)} />
        )}
        <IconButton label={`Edit ${name}`} icon="edit" onClick={() => showDialog("edit", name)} />
        <IconButton label={`Delete ${name}`} icon="trash" onClick={() => onRemove(name)} />
      </span>
    ),
  };
}
