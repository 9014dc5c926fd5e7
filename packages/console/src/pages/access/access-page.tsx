/**
 * The page Access: apps, and who may do what in the current one.
 */
import type { VNode } from "../../kit/preact.ts";
import { hrefOf, route } from "../../route/router.ts";
import { Tabs } from "../../ui/tabs.tsx";
import type { PageProps } from "../page.ts";
import { ApiKeys } from "./api-keys.tsx";
import { AppList } from "./app-list.tsx";
import { AuditLog } from "./audit-log.tsx";
import { Sinks, Webhooks } from "./destinations.tsx";
import { Providers } from "./providers.tsx";
import { Sessions } from "./sessions.tsx";

const TABS = {
  apps: { title: "Apps", Content: AppList },
  keys: { title: "API keys", Content: ApiKeys },
  providers: { title: "Auth providers", Content: Providers },
  sessions: { title: "Sessions", Content: Sessions },
  webhooks: { title: "Webhooks", Content: Webhooks },
  sinks: { title: "Sinks", Content: Sinks },
  audit: { title: "Audit log", Content: AuditLog },
} as const;

function isTab(name: string): name is keyof typeof TABS {
  return Object.hasOwn(TABS, name);
}

export function Page({ app }: PageProps): VNode {
  const named = route.value.query["tab"] ?? "";
  const current = isTab(named) ? named : "apps";
  const { Content } = TABS[current];
  const tabs = Object.entries(TABS).map(([id, { title }]) => {
    return { id, title, href: hrefOf("access", id === "apps" ? {} : { tab: id }) };
  });
  return (
    <>
      <Tabs label="Parts of the page" tabs={tabs} current={current} />
      <Content key={current} app={app} />
    </>
  );
}
