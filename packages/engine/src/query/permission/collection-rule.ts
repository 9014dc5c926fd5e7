/**
 * CollectionRule: the compiled rule of a caller for one collection and one kind of access.
 */

import type { PermissionFilter } from "./permission-filter.ts";
import type { RuleKey } from "./rule-key.ts";

export interface CollectionRule {
  /** Every document is allowed, without an evaluation. */
  readonly isWhole: boolean;
  readonly filters: readonly PermissionFilter[];
  /** The values that all of its filters select by; undefined if they use more than equality. */
  readonly key?: RuleKey | undefined;
}

export const WHOLE_RULE: CollectionRule = { isWhole: true, filters: [] };
/** Allows nothing. */
export const NO_RULE: CollectionRule = { isWhole: false, filters: [] };
