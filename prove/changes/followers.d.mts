/** Types of followers.mjs, for tests. */
import type { ChangesProofOptions } from "./options.mjs";

export interface FollowResult {
  readonly changes: number;
  readonly seconds: number;
  readonly kills: number;
  readonly repeats: number;
  readonly memoryMb: number;
  readonly failures: readonly string[];
}

export function follow(
  options: Omit<ChangesProofOptions, "help" | "json">,
  report?: (line: string) => void,
): Promise<FollowResult>;
