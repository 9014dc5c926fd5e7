/**
 * Programs that scripts need: finds them in PATH, and prints where one is. Uses nothing but Node
 * itself.
 */
import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";

/** All executables of these names in PATH, by the order of the names. */
export function findInPath(names, env) {
  const folders = (env.PATH ?? "").split(delimiter).filter((folder) => folder !== "");
  const paths = names.flatMap((name) => folders.map((folder) => join(folder, name)));
  return paths.filter(isExecutable);
}

export function isExecutable(path) {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Prints the path, or on standard error the reason why there is none. */
export function printFound({ path, reason }) {
  if (path === undefined) {
    console.error(`bigpeer: ${reason}`);
    process.exitCode = 1;
  } else console.log(path);
}
