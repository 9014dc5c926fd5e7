/** Types of release-plan.mjs, for tests. */

export interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly repository?: unknown;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
}

export interface Entry {
  readonly text: string;
  readonly isDated: boolean;
}

export interface Checkout {
  readonly version: string;
  readonly manifests: readonly Manifest[];
  readonly entry: Entry | undefined;
  readonly tags: readonly string[];
  /** What `git status --porcelain` prints. */
  readonly changes: string;
}

export function entryOf(changelog: string, version: string): Entry | undefined;
export function faultsOf(checkout: Checkout): string[];
export function publishOrder(manifests: readonly Manifest[]): Manifest[];
