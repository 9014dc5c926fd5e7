/**
 * Accessibility of every part of Devices, Access, Replication and Operations in both themes: axe with
 * its default rules finds nothing, also in their dialogs.
 */
import { expect, test, vi } from "vitest";
import { consoles, hasBrowser } from "./support/console-page.ts";

const openConsole = consoles();

const PATHS = [
  "/devices?app=default",
  "/devices?app=default&tab=known",
  "/devices?app=default&tab=remote",
  "/access?app=default",
  "/access?app=default&dialog=new",
  "/access?app=default&dialog=delete&name=default",
  "/access?app=default&dialog=settings&name=default",
  "/access?app=default&tab=keys",
  "/access?app=default&tab=keys&dialog=edit&name=till",
  "/access?app=default&tab=keys&dialog=rotate&name=till",
  "/access?app=default&tab=providers",
  "/access?app=default&tab=providers&dialog=new",
  "/access?app=default&tab=providers&dialog=test&name=development",
  "/access?app=default&tab=sessions",
  "/access?app=default&tab=webhooks",
  "/access?app=default&tab=webhooks&dialog=edit&name=orders",
  "/access?app=default&tab=webhooks&dialog=letters&name=orders",
  "/access?app=default&tab=sinks&dialog=new",
  "/access?app=default&tab=audit",
  "/replication?app=default",
  "/replication?app=default&dialog=edit&name=waiting",
  "/replication?app=default&dialog=secret",
  "/operations?app=default",
  "/operations?app=default&tab=settings",
  "/operations?app=default&tab=backups",
  "/operations?app=default&tab=metrics",
];

test.runIf(hasBrowser).each(["light", "dark"] as const)(
  "axe finds no fault in any part in the %s theme",
  async (theme) => {
    const shown = await openConsole({ replicationPort: 0 });
    const { running } = shown.server;
    const manage = async (path: string, body: object): Promise<void> => {
      const root = `${running.managementUrl}/namespace/default/bigPeer/big-peer/app/default`;
      const headers = { "content-type": "application/json" };
      const init = { method: "POST", headers, body: JSON.stringify(body) };
      const response = await fetch(root + path, init);
      if (!response.ok) throw new Error(await response.text());
    };
    const queries = { orders: ["isOpen == true"] };
    const permissions = { read: { queriesByCollection: queries }, write: { everything: true } };
    await manage("/apiKey", { name: "till", permissions });
    const address = { url: "http://127.0.0.1:1/", allowPrivate: true };
    await manage("/webhook", { name: "orders", collection: "orders", ...address });
    const connections = ["127.0.0.1:1"];
    await manage("/bigPeerReplication", {
      name: "waiting",
      connections,
      queriesByCollection: queries,
    });
    await shown.atServer("INSERT INTO orders DOCUMENTS ({'_id': 'o1', 'isOpen': false})");
    const peer = await shown.server.peer({ deviceName: "till 1", metadata: { store: "Köln" } });
    peer.sync.registerSubscription("SELECT * FROM orders WHERE isOpen = true");
    peer.sync.start();
    await vi.waitFor(() => expect(peer.sync.status.state).toBe("connected"));
    await shown.sees("main h1");
    await shown.setTheme(theme);
    const key = peer.presence.graph.localPeer.peerKeyString;
    const about = [
      `/devices?app=default&device=${key}`,
      `/devices?app=default&tab=why&collection=orders&id=o1&device=${key}`,
    ];
    const faults: string[] = [];
    for (const path of [...about, ...PATHS]) faults.push(...(await shown.faults(path)));
    expect(faults).toEqual([]);
  },
);
