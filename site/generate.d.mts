/** Types of generate.mjs, for its test. */

export interface Repository {
  readonly files: readonly string[];
  readonly read: (path: string) => string;
}

export interface Entry {
  readonly file?: string;
  readonly folder?: string;
  readonly path?: string;
  readonly title?: string;
  readonly about?: string;
  readonly summary?: string;
  readonly generated?: string;
  readonly pages?: readonly Entry[];
}

export interface SitePage {
  readonly file: string | undefined;
  readonly path: string;
  readonly title: string;
  readonly about: string;
  readonly folder?: string;
  readonly isIndex?: boolean;
}

export interface Group<T> {
  readonly title: string;
  readonly pages: readonly T[];
}

export interface GeneratedSite {
  readonly groups: readonly Group<SitePage>[];
  readonly pages: readonly SitePage[];
  readonly faults: readonly string[];
  /** Texts for programs, by path. */
  readonly plain: ReadonlyMap<string, string>;
}

export function generate(groups?: readonly Group<Entry>[], repository?: Repository): GeneratedSite;
