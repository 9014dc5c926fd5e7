/**
 * The state of a connected device in one word, the worst first.
 */
import { plural } from "../../values/show-value.ts";
import type { Device } from "./device-answers.ts";

export interface DeviceState {
  readonly kind: "ok" | "busy" | "warn" | "err" | "idle";
  readonly text: string;
  readonly title: string;
}

export function stateOfDevice({ subscriptions, sync, transport }: Device): DeviceState {
  const { lastError } = transport;
  if (lastError !== undefined) {
    return { kind: "err", text: "error", title: `${lastError.message} (${lastError.code})` };
  }
  if (subscriptions.length === 0) {
    return { kind: "idle", text: "no subscription", title: "The server sends it nothing." };
  }
  if (subscriptions.some(({ state }) => state === "behind")) {
    const title = "The device does not read fast enough.";
    return { kind: "warn", text: "behind", title };
  }
  if (subscriptions.some(({ state }) => state !== "live")) {
    return { kind: "busy", text: "filling", title: "The first transfer of a subscription runs." };
  }
  const { pending = 0, uploads, lag, sentUpTo, appliedUpTo = 0 } = sync;
  if (pending + uploads > 0) {
    const title = `${plural(Math.max(pending, uploads), "write")} of the device on the way.`;
    return { kind: "busy", text: "uploading", title };
  }
  if (lag > 0 && sentUpTo - appliedUpTo >= lag) {
    const title = "Everything was sent. The device confirms within 30 seconds.";
    return { kind: "busy", text: "confirming", title };
  }
  if (lag > 0) {
    const title = `The device lacks ${plural(lag, "transaction")}.`;
    return { kind: "busy", text: "catching up", title };
  }
  return { kind: "ok", text: "in sync", title: "The device has everything of its subscriptions." };
}
