/**
 * A server that is killed with SIGKILL again and again while somebody works with it, and started
 * again on the same folder.
 */

import { expect } from "vitest";
import type { Script } from "../../../node/test/support/script.ts";
import { type Served, serveFolder, verifyFolder } from "./served-folder.ts";

export interface KilledLives {
  readonly script: Script;
  readonly dataDir: string;
  /** Settings of the command line. */
  readonly words?: readonly string[];
  readonly kills: number;
  /** The server is killed at one of so many answers, in the middle of others. */
  readonly answersMax: number;
  /** Asks until the server is gone, and tells of every answer. */
  readonly work: (served: Served, onAnswer: () => void) => Promise<unknown>;
  /** Of what must be there after a restart. */
  readonly check: (served: Served) => Promise<unknown>;
}

/** From a server that runs, through all kills, to the last one that runs. */
export async function surviveKills(first: Served, lives: KilledLives): Promise<Served> {
  let served = first;
  for (let kill = 1; kill <= lives.kills; kill++) {
    await lifeOf(served, lives);
    served = await serveFolder(lives.script, lives.dataDir, lives.words);
    await lives.check(served);
  }
  return served;
}

async function lifeOf(served: Served, { answersMax, work }: KilledLives): Promise<void> {
  const killAfter = 1 + Math.floor(Math.random() * answersMax);
  let answers = 0;
  await work(served, () => {
    if (++answers === killAfter) served.process.kill("SIGKILL");
  });
  expect((await served.process.ended).signal).toBe("SIGKILL");
}

/** Ends a server as it should be ended, and looks at all that it leaves. */
export async function closeWhole({ process }: Served, lives: KilledLives): Promise<void> {
  process.kill("SIGTERM");
  expect((await process.ended).code).toBe(0);
  const { code, stdout } = await verifyFolder(lives.script, lives.dataDir);
  expect({ code, stdout }).toEqual({
    code: 0,
    stdout: expect.stringMatching(/^no problems found$/m),
  });
}
