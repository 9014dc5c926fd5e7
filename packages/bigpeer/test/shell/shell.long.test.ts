/**
 * The shell in a real terminal, against a real server.
 */

import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { testProgram } from "../../../../test/support/debian-programs.ts";
import { ROOT } from "../../../../test/support/repository.ts";
import { testHost } from "../../../node/test/support/store-host.ts";
import { temporaryFolder } from "../../../node/test/support/temporary-folder.ts";
import { startServer } from "../../../server/src/server.ts";
import { testConfig } from "../../../server/test/support/test-config.ts";
import { readQuickstart } from "../../src/connection/quickstart-file.ts";
import { Terminal } from "../support/terminal.ts";

const tmux = await testProgram("tmux");

const MAIN = join(ROOT, "packages/bigpeer/dist/main.js");

/** A shell for a server in a folder of its own. */
async function openShell(env: Record<string, string>): Promise<Opened> {
  const folder = temporaryFolder();
  const dataDir = join(folder, "data");
  const server = await startServer(testConfig({ dataDir }), testHost());
  onTestFinished(() => server.close());
  const quickstart = readQuickstart(join(dataDir, "quickstart.json"));
  const variables = { BIGPEER_URL: server.url, BIGPEER_KEY: quickstart?.key ?? "", ...env };
  const words = [process.execPath, MAIN, "query"];
  const shell = await Terminal.open({ tmux: tmux.path, folder, words, env: variables });
  await shell.waitFor(/^bigpeer> ?$/m);
  return { folder, shell };
}

interface Opened {
  readonly folder: string;
  readonly shell: Terminal;
}

/** Enters a line on an empty screen. */
async function enterAlone(shell: Terminal, text: string): Promise<void> {
  await shell.press("C-l");
  await shell.waitFor(/^bigpeer> ?\n\n\n/);
  await shell.enter(text);
}

test.runIf(tmux.isPresent)("commands with a dot show, change and move what they say", async () => {
  const { folder, shell } = await openShell({ PAGER: "cat" });
  const file = join(folder, "beds.ndjson");
  writeFileSync(file, '{"_id":"b1","plants":3}\n{"_id":"b2","plants":"many"}\n');
  await shell.enter(`.import ${file} beds`);
  await shell.waitFor(/imported 2 documents/);
  await shell.enter("CREATE INDEX plants ON beds (plants);");
  await shell.waitFor(/documents changed/);

  await enterAlone(shell, ".indexes beds");
  await shell.waitFor(/^_id .*\n.*beds.*plants/m);
  await enterAlone(shell, ".describe beds");
  await shell.waitFor(/^plants +number, text +2 of 2/m);
  await enterAlone(shell, ".timing on");
  await shell.enter("SELECT _id FROM beds WHERE plants = 3;");
  await shell.waitFor(/^b1\s+1 rows, \d+\.\d ms/m);
  await enterAlone(shell, ".explain on");
  await shell.enter("SELECT _id FROM beds WHERE plants = 3;");
  await shell.waitFor(/indexScan|IndexScan|index/);
  await shell.enter(".explain off");
  await enterAlone(shell, ".watch 0.2 SELECT _id FROM beds WHERE plants = 3");
  await shell.waitFor(/(?:^b1\s+1 rows[^]*){3}/m);
  await shell.press("C-c");
  await shell.waitFor(/stopped\n+bigpeer> ?$/m);

  const copy = join(folder, "copy.ndjson");
  await enterAlone(shell, `.export beds ${copy}`);
  await shell.waitFor(/exported 2 documents/);
  expect(readFileSync(copy, "utf8").trim().split("\n")).toHaveLength(2);
});

test.runIf(tmux.isPresent && existsSync("/usr/bin/less"))(
  "a long result goes through the pager, and Ctrl-C there does not end the shell",
  async () => {
    const { shell } = await openShell({ PAGER: "less -SX" });
    const documents = Array.from({ length: 100 }, (_, i) => `{'_id': ${i}}`).join(",");
    await shell.enter(
      `INSERT INTO rows DOCUMENTS ${documents.replaceAll("{", "({").replaceAll("}", "})")};`,
    );
    await shell.waitFor(/100 documents changed/);
    await shell.enter("SELECT _id FROM rows ORDER BY _id;");
    await shell.waitFor(/^ 30\n[^]*^:/m);
    await shell.press("C-c");
    // The pager forgets what is typed while it handles Ctrl-C.
    await vi.waitFor(async () => {
      await shell.press("G");
      expect(await shell.screen()).toMatch(/^ 99$/m);
    });
    await shell.press("q");
    await shell.waitFor(/100 rows\n+bigpeer> ?$/m);
    await shell.enter("SELECT 40 + 2 AS n FROM rows WHERE _id = 1;");
    await shell.waitFor(/^42\s+1 rows/m);
  },
);

test.runIf(tmux.isPresent)(
  "the shell completes, colours, shows faults, survives a restart of the server and keeps its history",
  async () => {
    const folder = temporaryFolder();
    const dataDir = join(folder, "data");
    let server = await startServer(testConfig({ dataDir }), testHost());
    const quickstart = readQuickstart(join(dataDir, "quickstart.json"));
    const env = { BIGPEER_URL: server.url, BIGPEER_KEY: quickstart?.key ?? "", PAGER: "cat" };
    const words = [process.execPath, MAIN, "query"];
    const open = () => Terminal.open({ tmux: tmux.path, folder, words, env });
    const shell = await open();
    await shell.waitFor(/^bigpeer> ?$/m);

    await shell.enter("INSERT INTO gardens DOCUMENTS ({'_id': 'g1', 'plants': 3});");
    await shell.waitFor(/1 documents changed/);

    // A collection, then a keyword on the next line, then a field.
    await shell.type("SELECT plants FROM gar");
    await shell.press("Tab");
    await shell.waitFor(/FROM gardens/);
    await shell.press("Enter");
    await shell.waitFor(/^ +-> ?$/m);
    await shell.type("WHER");
    await shell.press("Tab");
    await shell.waitFor(/-> WHERE/);
    await shell.type(" plan");
    await shell.press("Tab");
    await shell.waitFor(/-> WHERE plants/);
    await shell.enter(" > 2 AND 'x' = 'x';");
    await shell.waitFor(/^plants\s+3\s+1 rows/m);
    const coloured = await shell.screen({ isColoured: true });
    expect(coloured).toContain("\u001b[34mSELECT\u001b[39m");
    expect(coloured).toContain("\u001b[32m'x'");

    await shell.enter("SELECT * FORM gardens;");
    await shell.waitFor(/expected FROM, found "FORM".*\n {2}SELECT \* FORM gardens\n {11}\^/);

    await shell.type("SELECT abandoned");
    await shell.press("C-c");
    await shell.waitFor(/abandoned\^C\n+bigpeer> ?$/m);
    await shell.enter(".collections");
    await shell.waitFor(/^name\s+gardens/m);
    await shell.enter(".params n=3");
    await shell.waitFor(/^n +3/m);
    await shell.enter("SELECT _id FROM gardens WHERE plants = :n;");
    await shell.waitFor(/^_id\s+g1\s+1 rows/m);
    await shell.enter(".help");
    for (const name of [
      "collections",
      "indexes",
      "describe",
      "mode",
      "timing",
      "watch",
      "explain",
    ]) {
      await shell.waitFor(new RegExp(`^\\.${name}`, "m"));
    }

    const { port } = new URL(server.url);
    await server.close();
    await shell.press("C-l");
    await shell.enter(".mode json");
    await shell.waitFor(/\.mode json\n+bigpeer> ?$/m);
    server = await startServer(testConfig({ dataDir, port: Number(port) }), testHost());
    await shell.enter("SELECT _id, plants + 39 AS n FROM gardens;");
    await shell.waitFor(/\[\{"_id":"g1","n":42\}\]/);

    await shell.enter(".exit");
    await shell.waitFor(/Pane is dead \(status 0/);
    const again = await open();
    await again.waitFor(/^bigpeer> ?$/m);
    await again.press("Up");
    await again.waitFor(/^bigpeer> \.exit/m);
    await again.press("Up");
    await again.waitFor(/^bigpeer> SELECT _id, plants \+ 39 AS n FROM gardens;/m);
    await server.close();
  },
);
