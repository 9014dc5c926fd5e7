/**
 * A field for a device: its key, with the names of the devices that the app knows as proposals.
 */
import { rowsOf } from "../../api/execute.ts";
import type { VNode } from "../../kit/preact.ts";
import { useLoad } from "../../kit/use-load.ts";
import { SelectField } from "../../ui/field.tsx";
import type { KnownDevice } from "./device-answers.ts";

const PROPOSED_MAX = 500;

const STATEMENT = `SELECT DISTINCT peerKeyString, deviceName, status, lastSeen FROM __small_peer_info
  ORDER BY status, lastSeen DESC LIMIT ${PROPOSED_MAX}`;

const CONNECTED = `SELECT peerKeyString, deviceName FROM system:peers LIMIT ${PROPOSED_MAX}`;

type Named = Pick<KnownDevice, "peerKeyString" | "deviceName"> & Partial<KnownDevice>;

export interface DeviceFieldProps {
  readonly app: string;
  readonly label: string;
  /** The key. */
  readonly value: string;
  readonly onChange: (key: string) => void;
}

export function DeviceField({ app, label, value, onChange }: DeviceFieldProps): VNode {
  const { value: devices = [] } = useLoad(app, (signal) => devicesOf(app, signal));
  const isKnown = devices.some(({ peerKeyString }) => peerKeyString === value);
  const other = value === "" || isKnown ? [] : [{ value, title: value }];
  const choices = devices.map(({ peerKeyString, deviceName = "", status }) => {
    const name = deviceName === "" ? "device" : deviceName;
    const left = status === "left" ? " (left)" : "";
    return { value: peerKeyString, title: `${name} · ${peerKeyString.slice(0, 8)}${left}` };
  });
  return (
    <SelectField
      label={label}
      value={value}
      choices={[{ value: "", title: "Choose a device" }, ...other, ...choices]}
      onChange={onChange}
    />
  );
}

/** The connected ones first. A device that has just connected has no record yet. */
async function devicesOf(app: string, signal: AbortSignal): Promise<readonly Named[]> {
  const [connected, known] = await Promise.all([
    rowsOf<Named>(app, CONNECTED, { signal }),
    rowsOf<KnownDevice>(app, STATEMENT, { signal }),
  ]);
  const byKey = new Map<string, Named>();
  for (const device of [...connected, ...known]) {
    if (!byKey.has(device.peerKeyString)) byKey.set(device.peerKeyString, device);
  }
  return [...byKey.values()];
}
