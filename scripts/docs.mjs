/**
 * The documentation site: `docs.mjs serve` shows it while you write, `docs.mjs build` builds it
 * beside the built server. Both first install the tools of the site when they are not those of
 * site/package-lock.json. Options after `serve` go to site/serve.mjs.
 *
 * Builds take turns, under a lock of the folder `site`.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { say, withLock } from "./folder-lock.mjs";
import { installPackages } from "./npm-packages.mjs";
import { stopWithParent } from "./parent-watch.mjs";

const site = fileURLToPath(new URL("../site", import.meta.url));

const COMMANDS = { build, serve };

const [command, ...options] = process.argv.slice(2);
try {
  const run = Object.hasOwn(COMMANDS, command ?? "") ? COMMANDS[command] : undefined;
  if (run === undefined) throw new Error(`expected serve or build, found ${command ?? "nothing"}.`);
  await run(options);
} catch (error) {
  say(error.message);
  process.exitCode = 1;
}

async function build() {
  await withLock(site, async (lock) => {
    await installTools(lock);
    const exitCode = await lock.run(process.execPath, [join(site, "build.mjs")]);
    if (exitCode !== 0) throw new Error("the documentation site was not built: see above.");
  });
}

async function serve(words) {
  stopWithParent();
  await withLock(site, installTools);
  const server = spawn(process.execPath, [join(site, "serve.mjs"), ...words], { stdio: "inherit" });
  // The terminal sends Ctrl-C to both; the server ends, and then this process.
  process.on("SIGINT", () => {});
  process.on("SIGTERM", () => server.kill("SIGTERM"));
  const [exitCode] = await once(server, "close");
  process.exitCode = exitCode ?? 0;
}

function installTools(lock) {
  return installPackages(site, lock, "the tools of the documentation site");
}
