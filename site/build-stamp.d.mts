/** Types of build-stamp.mjs, for its test. */

import type { Repository } from "./generate.mjs";

export function fingerprintOf(repository: Repository): string;

export class BuildStamp {
  constructor(path: string, target: string);
  isCurrent(fingerprint: string): boolean;
  write(fingerprint: string): void;
  remove(): void;
}
