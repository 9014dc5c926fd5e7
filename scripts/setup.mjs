/**
 * Makes a clone ready to run. `npm start`, `npm test` and their relatives run this first, so a fresh
 * clone needs no other command, and a clone that is ready loses a fraction of a second.
 *
 *   1. Is this Node new enough?
 *   2. Are the installed dependencies those of package-lock.json? If not: `npm ci`.
 *   3. Are the built packages those of the sources? `tsc -b` decides and builds what is not; the page
 *      `/docs/api` is copied beside them, and the peer for browsers and the console are bundled.
 *
 * Two set-ups in one clone would destroy each other's work, so steps 2 and 3 are done under a lock.
 *
 * Uses nothing but Node itself. Standard output stays empty: it belongs to the program started next.
 */
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { buildConsole } from "./console.mjs";
import { copyApiPage } from "./copy-api-page.mjs";
import { say, withLock } from "./folder-lock.mjs";
import { installPackages } from "./npm-packages.mjs";
import { buildSdk } from "./sdk.mjs";

const NODE_MINIMUM = [20, 19];

const root = fileURLToPath(new URL("..", import.meta.url));

await main();

async function main() {
  try {
    checkNodeVersion();
    await withLock(root, async (lock) => {
      await installPackages(root, lock, "dependencies");
      await build(lock);
    });
  } catch (error) {
    say(error.message);
    process.exitCode = 1;
  }
}

function checkNodeVersion() {
  const [major, minor] = process.versions.node.split(".").map(Number);
  const isEnough =
    major > NODE_MINIMUM[0] || (major === NODE_MINIMUM[0] && minor >= NODE_MINIMUM[1]);
  if (isEnough) return;
  throw new Error(`Node ${NODE_MINIMUM.join(".")} or newer is needed; this is ${process.version}.`);
}

async function build(lock) {
  const compiler = join(root, "node_modules", "typescript", "bin", "tsc");
  const exitCode = await lock.run(process.execPath, [compiler, "-b"]);
  if (exitCode !== 0) throw new Error("the sources do not compile (tsc -b): see above.");
  copyApiPage();
  await buildSdk();
  await buildConsole();
}
