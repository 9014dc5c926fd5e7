/** Types of debian-program.mjs, for tests. */

export interface FoundProgram {
  /** Path of an executable; undefined when there is none. */
  readonly path?: string;
  /** Why there is none. */
  readonly reason?: string;
}

export function findDebianProgram(
  name: "nginx" | "caddy" | "promtool" | "tmux",
  env?: NodeJS.ProcessEnv,
): Promise<FoundProgram>;
