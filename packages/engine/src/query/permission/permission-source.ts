/**
 * PermissionSource: where permissions come from, which decides which of their queries are valid.
 */

export interface PermissionSource {
  /** For users of a provider: queries may name the caller (P22). */
  readonly isOfUsers?: boolean;
  /** Permissions that are saved: a query that is never true is refused (P23). */
  readonly isSaved?: boolean;
}
