/**
 * React 18, React 19 and Preact, with which long tests run the hooks. They have a lock file of their
 * own in scripts/react-runtimes, and are installed on use.
 */
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { withLock } from "./folder-lock.mjs";
import { installPackages } from "./npm-packages.mjs";

const FOLDER = fileURLToPath(new URL("react-runtimes", import.meta.url));

/** What takes the place of the packages that an app imports. */
export const RUNTIMES = {
  "React 18": { react: "react-18", "react-dom": "react-dom-18" },
  "React 19": { react: "react-19", "react-dom": "react-dom-19" },
  Preact: { react: "preact/compat", "react-dom": "preact/compat" },
};

/** `{ modules }`, a folder node_modules, or `{ reason }` why there is none. */
export async function findReactRuntimes() {
  try {
    await withLock(FOLDER, (lock) => installPackages(FOLDER, lock, "React and Preact"));
  } catch (error) {
    return { reason: `React cannot be installed: ${error.message}` };
  }
  return { modules: join(FOLDER, "node_modules") };
}
