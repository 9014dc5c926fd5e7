/** Types of sdk.mjs, for tests. */

export type SdkFile =
  | "bigpeer"
  | "bigpeer-loader"
  | "bigpeer-worker"
  | "bigpeer-patterns"
  | "bigpeer-explain"
  | "bigpeer-attachments"
  | "bigpeer-compat"
  | "bigpeer-compat-v4";

export interface BundledSdkFile {
  readonly code: string;
  /** Modules that it still imports: those of Node, if there are any. */
  readonly imports: readonly string[];
  /** The sources in it. */
  readonly modules: readonly string[];
}

export function bundleSdkFile(name: SdkFile): Promise<BundledSdkFile>;

export interface SdkFolders {
  /** In the package of the peer. */
  readonly target: string;
  /** In the server, with a stamp. */
  readonly copy: string;
}

/** Bundles all files into the folders, unless they are there and up to date. */
export function buildSdk(
  folders?: SdkFolders,
  bundle?: (name: SdkFile) => Promise<Pick<BundledSdkFile, "code">>,
): Promise<void>;
