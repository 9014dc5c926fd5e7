/**
 * The devices that the app remembers, the ones seen last first, also those that have left.
 */
import { rowsOf } from "../../api/execute.ts";
import type { VNode } from "../../kit/preact.ts";
import { useLoad } from "../../kit/use-load.ts";
import { useSettled } from "../../kit/use-settled.ts";
import { hrefOf, route, setQuery } from "../../route/router.ts";
import { Empty } from "../../ui/empty.tsx";
import { ErrorMessage } from "../../ui/error-message.tsx";
import { TextField } from "../../ui/field.tsx";
import { StateBadge } from "../../ui/state-badge.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { Time } from "../../ui/time.tsx";
import type { PageProps } from "../page.ts";
import type { KnownDevice } from "./device-answers.ts";

const SHOWN_MAX = 200;

const STATEMENT = `SELECT peerKeyString, deviceName, os, sdkVersion, credential, status, lastSeen
  FROM __small_peer_info
  WHERE :search = '' OR contains(lower(deviceName), :search) OR starts_with(peerKeyString, :search)
  ORDER BY lastSeen DESC LIMIT ${SHOWN_MAX}`;

export function KnownDevices({ app }: PageProps): VNode {
  const { search = "" } = route.value.query;
  const args = { search: useSettled(search).trim().toLowerCase() };
  const { value, error, reload } = useLoad(
    `${app} ${args.search}`,
    (signal) => rowsOf<KnownDevice>(app, STATEMENT, { args, signal }),
    { isKept: true },
  );
  return (
    <>
      <div class="toolbar">
        <div class="search">
          <TextField
            label="Search devices"
            isLabelHidden
            type="search"
            placeholder="Name or key"
            value={search}
            onInput={(text) => setQuery({ search: text }, { replace: true })}
          />
        </div>
        <span class="muted">The {SHOWN_MAX} devices seen last.</span>
      </div>
      <ErrorMessage error={error} onRetry={() => void reload()} />
      {value === undefined ? null : (
        <Table
          label="Known devices"
          columns={COLUMNS}
          rows={value}
          keyOf={({ peerKeyString, credential }) => `${peerKeyString} ${credential}`}
          empty={<Empty title="No device matches." />}
        />
      )}
    </>
  );
}

const COLUMNS: readonly Column<KnownDevice>[] = [
  {
    title: "Device",
    cell: ({ peerKeyString, deviceName = "" }) => (
      <a href={hrefOf("devices", { tab: "why", device: peerKeyString })}>
        {deviceName === "" ? peerKeyString.slice(0, 8) : deviceName}
      </a>
    ),
  },
  {
    title: "State",
    cell: ({ status }) => (
      <StateBadge kind={status === "connected" ? "ok" : "idle"}>{status}</StateBadge>
    ),
  },
  { title: "Last seen", cell: ({ lastSeen }) => <Time at={lastSeen} /> },
  { title: "Credential", cell: ({ credential }) => <code>{credential}</code> },
  { title: "SDK", cell: ({ sdkVersion = "", os = "" }) => `${sdkVersion} · ${os}` },
  {
    title: "Key",
    cell: ({ peerKeyString }) => <code title={peerKeyString}>{peerKeyString.slice(0, 8)}…</code>,
  },
];
