/**
 * Caller rules and document checks: what the parts of a permission check ask of each other. The
 * Authority has the rules of a caller; the PermissionChecker evaluates them on documents.
 */

import type { StoredDocument, View } from "../../store/view.ts";
import type { CollectionRule } from "./collection-rule.ts";
import type { CollectionUse } from "./collection-use.ts";

export interface CallerRules {
  /** Identifies the caller as the owner of requests and attachments. */
  readonly credential: string;
  readonly isReadingAll: boolean;
  readonly isWritingAll: boolean;
  readRule(collection: string): CollectionRule;
  writeRule(collection: string): CollectionRule;
  /** Whether there is a read rule for the collection. */
  hasReadRule(collection: string): boolean;
  /** Throws for a collection without a rule, whether it exists or not. */
  require(uses: readonly CollectionUse[]): void;
}

export interface DocumentChecks {
  readonly authority: CallerRules;
  /** Steps of the whole statement so far. */
  readonly work: number;
  mayRead(collection: string, document: StoredDocument): boolean;
  mayWrite(collection: string, document: StoredDocument): boolean;
  /** Throws unless the caller may read and write the existing document. */
  requireWritable(collection: string, before: StoredDocument): void;
  /** Throws for a token of content that the caller neither uploaded nor may read. */
  requireAttachment(id: string, view: View): void;
}
