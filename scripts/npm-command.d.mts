/** Types of npm-command.mjs, for tests. */

export interface Machine {
  readonly platform: NodeJS.Platform;
  readonly env: NodeJS.ProcessEnv;
  readonly execPath: string;
}

export function npmCommand(words: readonly string[], machine?: Machine): [string, string[]];
