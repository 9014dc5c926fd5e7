/**
 * The example examples/tasks-web in one command: installs its packages, builds it for the server of
 * this machine, and serves it: `npm run tasks-web`. Words after it are for `vite preview`, for
 * instance `-- --port 5000`.
 *
 * Its packages have a lock file of their own, and are installed on use.
 */
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { say, withLock } from "./folder-lock.mjs";
import { installPackages } from "./npm-packages.mjs";

const FOLDER = fileURLToPath(new URL("../examples/tasks-web", import.meta.url));

/** The program of Vite, when the packages of the example are installed. */
export async function installTasksWeb() {
  await withLock(FOLDER, (lock) =>
    installPackages(FOLDER, lock, "Vite and React for examples/tasks-web"),
  );
  return join(FOLDER, "node_modules", "vite", "bin", "vite.js");
}

function run(program, words) {
  const { status } = spawnSync(process.execPath, [program, ...words], {
    cwd: FOLDER,
    stdio: "inherit",
  });
  return status ?? 1;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  try {
    const vite = await installTasksWeb();
    process.exitCode =
      run(vite, ["build", "--logLevel", "warn"]) ||
      run(vite, ["preview", ...process.argv.slice(2)]);
  } catch (error) {
    say(error.message);
    process.exitCode = 1;
  }
}
