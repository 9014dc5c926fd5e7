/**
 * The page Operations: settings, backups, health, the version, the nodes of a cluster, and metrics.
 */
import type { VNode } from "../../kit/preact.ts";
import { hrefOf, route } from "../../route/router.ts";
import { Tabs } from "../../ui/tabs.tsx";
import { Backups } from "./backups.tsx";
import { HealthChecks } from "./health-checks.tsx";
import { MetricList } from "./metric-list.tsx";
import { SettingList } from "./setting-list.tsx";

const TABS = {
  health: { title: "Health", Content: HealthChecks },
  settings: { title: "Settings", Content: SettingList },
  backups: { title: "Backups", Content: Backups },
  metrics: { title: "Metrics", Content: MetricList },
} as const;

function isTab(name: string): name is keyof typeof TABS {
  return Object.hasOwn(TABS, name);
}

export function Page(): VNode {
  const named = route.value.query["tab"] ?? "";
  const current = isTab(named) ? named : "health";
  const { Content } = TABS[current];
  const tabs = Object.entries(TABS).map(([id, { title }]) => {
    return { id, title, href: hrefOf("operations", id === "health" ? {} : { tab: id }) };
  });
  return (
    <>
      <Tabs label="Parts of the page" tabs={tabs} current={current} />
      <Content key={current} />
    </>
  );
}
