/**
 * The built command as a process: signals and exit codes of a server that it starts.
 */

import { join } from "node:path";
import { expect, test } from "vitest";
import { ROOT } from "../../../test/support/repository.ts";
import { temporaryFolder } from "../../node/test/support/temporary-folder.ts";
import { isFullSize } from "../../protocol/test/support/test-size.ts";
import { BigpeerProcess } from "../../server/test/support/bigpeer-process.ts";

const SCRIPT = { path: join(ROOT, "packages/bigpeer/dist/main.js"), remove: () => {} };

test.runIf(isFullSize)(
  "start closes in order at a signal with exit code 0; wrong usage is 2, a folder in use is 4",
  async () => {
    const words = ["start", "--data-dir", join(temporaryFolder(), "data"), "--port", "0"];
    const server = new BigpeerProcess(SCRIPT, words);
    const url = await server.url(60_000);
    expect((await fetch(`${url}/readyz`)).status).toBe(200);
    const second = await new BigpeerProcess(SCRIPT, words).ended;
    expect(second).toMatchObject({ code: 4, stdout: "" });
    const wrong = await new BigpeerProcess(SCRIPT, ["start", "--prot", "1"]).ended;
    expect(wrong).toMatchObject({ code: 2, stdout: "" });
    server.kill("SIGTERM");
    expect(await server.ended).toMatchObject({ code: 0, signal: null });
  },
);
