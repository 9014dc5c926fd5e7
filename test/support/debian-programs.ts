/**
 * Programs of Debian for tests. One that is absent is announced, and its tests are left out.
 */
import { findDebianProgram } from "../../scripts/debian-program.mjs";

export interface TestProgram {
  readonly path: string;
  readonly isPresent: boolean;
}

/** Says on standard error that tests are left out when there is none. */
export async function testProgram(
  name: "nginx" | "caddy" | "promtool" | "tmux",
): Promise<TestProgram> {
  const { path, reason = "it was not found" } = await findDebianProgram(name);
  if (path === undefined) process.stderr.write(`tests with ${name} are left out: ${reason}\n`);
  return { path: path ?? "", isPresent: path !== undefined };
}
