/**
 * How npm is started as a process of its own. Windows has it as a batch file, which Node does not
 * start; there Node runs the file of npm itself.
 *
 * Uses nothing but Node itself.
 */
import { dirname, join } from "node:path";

/** `[program, words]` for `npm` with these words. */
export function npmCommand(words, { platform, env, execPath } = process) {
  if (platform !== "win32") return ["npm", words];
  // npm names its file to the scripts that it runs; without npm, it is the one installed with Node.
  const beside = join(dirname(execPath), "node_modules", "npm", "bin", "npm-cli.js");
  return [execPath, [env.npm_execpath ?? beside, ...words]];
}
