/** Types of console.mjs, for tests. */

export interface ScriptFile {
  readonly fileName: string;
  readonly code: string;
  readonly isEntry: boolean;
  /** Names of the files that are loaded with it, and of those that are loaded on use. */
  readonly imports: readonly string[];
  readonly dynamicImports: readonly string[];
  /** Paths of the sources in it. */
  readonly moduleIds: readonly string[];
}

export function buildConsole(): Promise<void>;
export function bundleScripts(): Promise<readonly ScriptFile[]>;
export function bundleStyles(): Promise<{ readonly fileName: string; readonly code: Uint8Array }>;
