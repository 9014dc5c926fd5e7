/**
 * The connected devices, and everything about the one that the address names.
 */
import { request } from "../../api/request.ts";
import { ofApp } from "../../api/session.ts";
import type { VNode } from "../../kit/preact.ts";
import { useLoad } from "../../kit/use-load.ts";
import { hrefOf, route, setQuery } from "../../route/router.ts";
import { Button } from "../../ui/button.tsx";
import { Empty } from "../../ui/empty.tsx";
import { ErrorMessage } from "../../ui/error-message.tsx";
import { StateBadge } from "../../ui/state-badge.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { Time } from "../../ui/time.tsx";
import { countText } from "../../values/show-value.ts";
import type { PageProps } from "../page.ts";
import type { Device, DevicePage } from "./device-answers.ts";
import { DeviceDetails } from "./device-details.tsx";
import { stateOfDevice } from "./device-state.ts";

const POLL_MS = 5000;
const PAGE_SIZE = 100;

export function ConnectedDevices({ app }: PageProps): VNode {
  const { after = "", device: chosen } = route.value.query;
  const path = `/sync/peers?limit=${PAGE_SIZE}${after === "" ? "" : `&after=${after}`}`;
  const { value, error, reload } = useLoad(
    `${app} ${path}`,
    (signal) => request<DevicePage>(ofApp(app, path), { signal }),
    { pollMs: POLL_MS },
  );
  const devices = value?.peers ?? [];
  const shown = devices.find(({ peerKeyString }) => peerKeyString === chosen);
  return (
    <>
      <ErrorMessage error={error} onRetry={() => void reload()} />
      {value === undefined ? null : (
        <Table
          label="Connected devices"
          columns={COLUMNS}
          rows={devices}
          keyOf={({ peerKeyString, connectedSince }) => `${peerKeyString} ${connectedSince}`}
          empty={<NoDevices />}
        />
      )}
      {value?.next === undefined && after === "" ? null : (
        <div class="toolbar">
          <Button isDisabled={after === ""} onClick={() => setQuery({ after: undefined })}>
            First devices
          </Button>
          <Button
            isDisabled={value?.next === undefined}
            onClick={() => setQuery({ after: String(value?.next) })}
          >
            Next devices
          </Button>
        </div>
      )}
      {shown === undefined ? null : <DeviceDetails device={shown} />}
      {chosen !== undefined && shown === undefined && value !== undefined ? (
        <p class="muted">The device {chosen} is not among these.</p>
      ) : null}
    </>
  );
}

function NoDevices(): VNode {
  return (
    <Empty title="No device is connected.">
      <p>
        A device appears here when its app calls <code>peer.sync.start()</code>. Devices of earlier
        days are under <a href={hrefOf("devices", { tab: "known" })}>Known</a>.
      </p>
    </Empty>
  );
}

const COLUMNS: readonly Column<Device>[] = [
  {
    title: "Device",
    cell: ({ peerKeyString, deviceName }) => (
      <a href={hrefOf("devices", { device: peerKeyString })}>
        {deviceName === "" ? peerKeyString.slice(0, 8) : deviceName}
      </a>
    ),
  },
  {
    title: "State",
    cell: (device) => {
      const { kind, text, title } = stateOfDevice(device);
      return (
        <StateBadge kind={kind} title={title}>
          {text}
        </StateBadge>
      );
    },
  },
  { title: "Lag (transactions)", isNumber: true, cell: ({ sync }) => countText(sync.lag) },
  { title: "Pending writes", isNumber: true, cell: ({ sync }) => countText(sync.pending ?? 0) },
  {
    title: "Subscriptions",
    isNumber: true,
    cell: ({ subscriptions, otherSubscriptions = 0 }) =>
      countText(subscriptions.length + otherSubscriptions),
  },
  { title: "User", cell: ({ userId }) => userId ?? <span class="muted">API key</span> },
  { title: "SDK", cell: ({ sdkVersion, os }) => `${sdkVersion} · ${os}` },
  { title: "Connected", cell: ({ connectedSince }) => <Time at={connectedSince} /> },
];
