/**
 * Types of build.mjs, for the tests.
 */

export interface SdkReferenceOptions {
  /** Path from the pages to the documents of `docs`; by default the folder above. */
  readonly documents?: string;
  /** Texts by their path from the root of the repository, instead of the files there. */
  readonly files?: Readonly<Record<string, string>>;
}

export interface SdkReferencePage {
  /** Name of the file in the output folder. */
  readonly path: string;
  readonly title: string;
}

export declare class SdkReferenceError extends Error {
  readonly complaints: readonly string[];
}

export declare function buildSdkReference(
  outputFolder: string,
  options?: SdkReferenceOptions,
): Promise<SdkReferencePage[]>;
