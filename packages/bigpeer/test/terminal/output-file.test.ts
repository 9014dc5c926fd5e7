/**
 * The file of `--output` on a disk that is full.
 */

import { randomBytes } from "node:crypto";
import { existsSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../../node/test/support/temporary-folder.ts";
import { OutputFile } from "../../src/terminal/output-file.ts";

const FULL = "/dev/full";

/** More than what waits in memory. */
const PIECES = 20;
const PIECE_LENGTH = 300_000;

test.runIf(existsSync(FULL)).each([{ isPacked: false }, { isPacked: true }])(
  "every write and the end fail with the reason, and none waits without end: %j",
  async (options) => {
    const path = join(temporaryFolder(), "full");
    symlinkSync(FULL, path);
    const file = await OutputFile.open(path, options);
    const failures: string[] = [];
    for (let i = 0; i < PIECES; i++) {
      const write = file.write(randomBytes(PIECE_LENGTH));
      await write.catch((error: Error) => failures.push(error.message));
    }
    await file.finish().catch((error: Error) => failures.push(error.message));
    expect(failures.length).toBeGreaterThan(1);
    for (const message of failures) expect(message).toContain("ENOSPC");
  },
);
