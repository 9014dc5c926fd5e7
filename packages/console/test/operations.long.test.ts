/**
 * The page Operations in a real browser: health, settings without secrets, backups, and metrics.
 */
import { readdirSync } from "node:fs";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../node/test/support/temporary-folder.ts";
import { consoles, hasBrowser } from "./support/console-page.ts";

const openConsole = consoles();

test.runIf(hasBrowser)("a person makes a backup and verifies it, by keyboard alone", async () => {
  const folder = temporaryFolder();
  const shown = await openConsole({ backupFolder: { folder, keep: 7 } });
  await shown.atServer("INSERT INTO orders DOCUMENTS ({'_id': 'o1'})");
  await shown.sees("main h1");
  await shown.press("g");
  await shown.press("p");
  await shown.tabTo("Backups");
  await shown.press("Enter");
  await shown.reads("There is no backup yet.");
  await shown.tabTo("Make a backup");
  await shown.press("Enter");
  await shown.reads("A backup is being made");
  await shown.reads("is made:");
  const [name = "", ...others] = readdirSync(folder);
  expect(others).toEqual([]);
  await shown.until(`document.querySelector("table tbody td")?.innerText`, name);
  await shown.tabTo("Verify");
  await shown.press("Enter");
  await shown.reads("whole");
});

test.runIf(hasBrowser)("health, settings and metrics are read and searched", async () => {
  const secret = "a-secret-of-all-big-peers";
  const shown = await openConsole({ replicationPort: 0, replicationSecret: secret });
  await shown.open("/operations?app=default");
  await shown.reads("no app failed to open");
  await shown.reads("GB free");

  await shown.click("link", "Settings");
  await shown.reads("management-port");
  expect(await shown.page.evaluate("document.body.innerHTML")).not.toContain(secret);
  await shown.page.locator(`::-p-aria([name="Search settings"][role="searchbox"])`).fill("backup");
  await shown.until(`!document.body.innerText.includes("management-port")`);
  await shown.reads("backup-every");
  expect(shown.page.url()).toContain("search=backup");

  await shown.click("link", "Metrics");
  await shown.reads("bigpeer_info");
  await shown.page
    .locator(`::-p-aria([name="Search metrics"][role="searchbox"])`)
    .fill("request duration");
  await shown.until(`!document.body.innerText.includes("bigpeer_info")`);
  await shown.reads("bigpeer_http_request_duration_seconds");
  await shown.reads("p99");
});
