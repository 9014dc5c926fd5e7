/**
 * The page Devices: who is connected, why a document has not arrived, and statements on devices.
 */
import type { VNode } from "../../kit/preact.ts";
import { hrefOf, route } from "../../route/router.ts";
import { Tabs } from "../../ui/tabs.tsx";
import type { PageProps } from "../page.ts";
import { ConnectedDevices } from "./connected-devices.tsx";
import { ExplainSync } from "./explain-sync.tsx";
import { KnownDevices } from "./known-devices.tsx";
import { RemoteStatements } from "./remote-statements.tsx";

const TABS = {
  connected: { title: "Connected", Content: ConnectedDevices },
  known: { title: "Known", Content: KnownDevices },
  why: { title: "Explain sync", Content: ExplainSync },
  remote: { title: "Remote statement", Content: RemoteStatements },
} as const;

function isTab(name: string): name is keyof typeof TABS {
  return Object.hasOwn(TABS, name);
}

export function Page({ app }: PageProps): VNode {
  const named = route.value.query["tab"] ?? "";
  const current = isTab(named) ? named : "connected";
  const { Content } = TABS[current];
  const tabs = Object.entries(TABS).map(([id, { title }]) => {
    return { id, title, href: hrefOf("devices", id === "connected" ? {} : { tab: id }) };
  });
  return (
    <>
      <Tabs label="Parts of the page" tabs={tabs} current={current} />
      <Content key={current} app={app} />
    </>
  );
}
