/**
 * The shell in a real terminal, against a real server.
 */

import { join } from "node:path";
import { expect, test } from "vitest";
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
