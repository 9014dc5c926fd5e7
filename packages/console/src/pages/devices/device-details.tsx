/**
 * Everything about one connected device: its subscriptions, how far it is, and its connection.
 */

import { stringifyExact } from "@bigpeer/client/exact-json";
import type { VNode } from "../../kit/preact.ts";
import { hrefOf, setQuery } from "../../route/router.ts";
import { IconButton } from "../../ui/button.tsx";
import { CopyButton } from "../../ui/copy-button.tsx";
import { Empty } from "../../ui/empty.tsx";
import { Facts } from "../../ui/facts.tsx";
import { JsonView } from "../../ui/json-view.tsx";
import { StateBadge } from "../../ui/state-badge.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { Time } from "../../ui/time.tsx";
import { countText, sizeText } from "../../values/show-value.ts";
import { durationText } from "../../values/time-text.ts";
import type { Device, DeviceSubscription } from "./device-answers.ts";

export function DeviceDetails({ device }: { readonly device: Device }): VNode {
  const { peerKeyString, deviceName, subscriptions, otherSubscriptions = 0 } = device;
  return (
    <section class="card" aria-label={`Device ${deviceName}`}>
      <div class="toolbar">
        <h2 class="grow">{deviceName}</h2>
        <a class="button plain" href={hrefOf("devices", { tab: "why", device: peerKeyString })}>
          Why is a document not there?
        </a>
        <a class="button plain" href={hrefOf("devices", { tab: "remote", device: peerKeyString })}>
          Run a statement
        </a>
        <IconButton label="Close" icon="close" onClick={() => setQuery({ device: undefined })} />
      </div>
      <div class="columns">
        <Identity device={device} />
        <Progress device={device} />
        <Connection device={device} />
      </div>
      <h3>Subscriptions</h3>
      <Table
        label="Subscriptions"
        columns={SUBSCRIPTION_COLUMNS}
        rows={subscriptions}
        keyOf={({ query, args }) => `${query} ${stringifyExact(args)}`}
        empty={<Empty title="The device subscribes to nothing, so the server sends nothing." />}
      />
      {otherSubscriptions === 0 ? null : (
        <p class="muted">{countText(otherSubscriptions)} more are not listed.</p>
      )}
      <Metadata device={device} />
    </section>
  );
}

function Identity({ device }: { readonly device: Device }): VNode {
  const { peerKeyString, userId, os, sdkVersion, address, expiresAt } = device;
  return (
    <Facts
      facts={[
        [
          "Key",
          <span class="with-copy" key="key">
            <code>{peerKeyString}</code>
            <CopyButton text={peerKeyString} what="the key" />
          </span>,
        ],
        ["User", userId ?? "API key"],
        ["System", os],
        ["SDK", sdkVersion],
        ["Address", address],
        ["Credential ends", expiresAt === undefined ? undefined : <Time at={expiresAt} />],
      ]}
    />
  );
}

function Progress({ device }: { readonly device: Device }): VNode {
  const { sentUpTo, appliedUpTo, lag, pending = 0, uploads } = device.sync;
  return (
    <Facts
      facts={[
        ["Sent up to", `transaction ${countText(sentUpTo)}`],
        [
          "Confirmed",
          appliedUpTo === undefined ? "nothing yet" : `transaction ${countText(appliedUpTo)}`,
        ],
        ["Lag", `${countText(lag)} transactions`],
        ["Pending writes", countText(pending)],
        ["Uploads", countText(uploads)],
      ]}
    />
  );
}

function Connection({ device }: { readonly device: Device }): VNode {
  const { connectedSince, transport } = device;
  const { bytesIn, bytesOut, queuedBytes, roundTripMs, heardMsAgo, lastError } = transport;
  return (
    <Facts
      facts={[
        ["Connected", <Time key="since" at={connectedSince} />],
        ["Last message", `${durationText(heardMsAgo)} ago`],
        ["Round trip", roundTripMs === undefined ? undefined : durationText(roundTripMs)],
        ["Received", sizeText(bytesIn)],
        ["Sent", sizeText(bytesOut)],
        ["Waits to be read", queuedBytes === 0 ? undefined : sizeText(queuedBytes)],
        [
          "Last error",
          lastError === undefined ? undefined : `${lastError.message} (${lastError.code})`,
        ],
      ]}
    />
  );
}

function Metadata({ device }: { readonly device: Device }): VNode | null {
  const all = [
    ["Metadata of the device", device.peerMetadata],
    ["Metadata of the auth provider", device.identityServiceMetadata],
  ] as const;
  const filled = all.filter(([, value]) => Object.keys(value).length > 0);
  if (filled.length === 0) return null;
  return (
    <>
      {filled.map(([title, value]) => (
        <div key={title}>
          <h3>{title}</h3>
          <JsonView label={title} value={value} />
        </div>
      ))}
    </>
  );
}

const SUBSCRIPTION_COLUMNS: readonly Column<DeviceSubscription>[] = [
  {
    title: "State",
    cell: ({ state }) => (
      <StateBadge kind={state === "live" ? "ok" : state === "behind" ? "warn" : "busy"}>
        {state}
      </StateBadge>
    ),
  },
  { title: "Query", cell: ({ query }) => <code>{query}</code> },
  {
    title: "Parameters",
    cell: ({ args }) => (Object.keys(args).length === 0 ? "" : <code>{stringifyExact(args)}</code>),
  },
];
