/**
 * Authority: the permissions of one caller, compiled, for all requests of the caller.
 *
 * It is cheap to create, because a token may bring one with each session: the rule of a collection
 * is compiled when a request first names it.
 */

import { PeerError, type Value } from "@bigpeer/protocol";
import type { Run } from "../frame/frame.ts";
import type { CallerRules } from "./caller-rules.ts";
import { type CollectionRule, NO_RULE, WHOLE_RULE } from "./collection-rule.ts";
import type { CollectionUse } from "./collection-use.ts";
import { collectionDenied, otherPeersDenied, peersDenied, wholeDenied } from "./denial.ts";
import { PermissionChecker } from "./permission-checker.ts";
import { permissionFilter } from "./permission-filter.ts";
import { type AccessRule, type Permissions, permissionsValue } from "./permissions.ts";
import { joinKeys } from "./rule-key.ts";

/** All rules for one kind of access. */
class RuleBook {
  readonly #rule: AccessRule;
  readonly #compiled = new Map<string, CollectionRule>();

  constructor(rule: AccessRule) {
    this.#rule = rule;
  }

  get isEverything(): boolean {
    return this.#rule.everything;
  }

  /** Whether there is a rule for the collection, even one that allows nothing. */
  has(collection: string): boolean {
    return this.#queriesOf(collection) !== undefined;
  }

  of(collection: string): CollectionRule {
    if (this.#rule.everything) return WHOLE_RULE;
    const known = this.#compiled.get(collection);
    if (known !== undefined) return known;
    const rule = compileRule(this.#queriesOf(collection));
    // Only existing rules: names come from outside, and the cache lives as long as a session.
    if (rule !== NO_RULE) this.#compiled.set(collection, rule);
    return rule;
  }

  #queriesOf(collection: string): readonly string[] | undefined {
    if (this.#rule.everything) return [];
    const { queriesByCollection } = this.#rule;
    if (!Object.hasOwn(queriesByCollection, collection)) return undefined;
    const queries = queriesByCollection[collection] ?? [];
    return queries.length === 0 ? undefined : queries;
  }
}

function compileRule(queries: readonly string[] | undefined): CollectionRule {
  if (queries === undefined) return NO_RULE;
  const filters = queries.map(permissionFilter);
  if (filters.some(({ isAlways }) => isAlways)) return WHOLE_RULE;
  return { isWhole: false, filters, key: joinKeys(filters.map(({ key }) => key)) };
}

export class Authority implements CallerRules {
  /** Identifies the caller as the owner of requests and attachments. */
  readonly credential: string;
  readonly #permissions: Permissions;
  readonly #read: RuleBook;
  readonly #write: RuleBook;

  constructor(permissions: Permissions, credential: string) {
    this.credential = credential;
    this.#permissions = permissions;
    this.#read = new RuleBook(permissions.read);
    this.#write = new RuleBook(permissions.write);
  }

  get isReadingAll(): boolean {
    return this.#read.isEverything;
  }

  get isWritingAll(): boolean {
    return this.#write.isEverything;
  }

  /** No permission checks are needed. */
  get isFull(): boolean {
    return this.isReadingAll && this.isWritingAll;
  }

  get mayAskPeers(): boolean {
    return this.#permissions.remoteQuery && this.isReadingAll;
  }

  /** The permissions as a value, the same for equal ones. */
  get value(): Value {
    return permissionsValue(this.#permissions);
  }

  readRule(collection: string): CollectionRule {
    return this.#read.of(collection);
  }

  writeRule(collection: string): CollectionRule {
    return this.#write.of(collection);
  }

  /** Whether there is a read rule for the collection. */
  hasReadRule(collection: string): boolean {
    return this.#read.has(collection);
  }

  /** Throws for a collection without a rule, whether it exists or not. */
  require(uses: readonly CollectionUse[]): void {
    for (const use of uses) {
      if (use.kind === "everything") {
        if (!this.isFull) throw wholeDenied();
        continue;
      }
      if (use.kind === "peers") {
        if (!this.isReadingAll) throw otherPeersDenied();
        continue;
      }
      const book = use.kind === "read" ? this.#read : this.#write;
      if (book.has(use.collection)) continue;
      throw placed(collectionDenied(use.collection), use.at);
    }
  }

  /**
   * Evaluates the permissions in one run. Only this creates a checker, so that a store whose callers
   * all have full access needs no code for permissions.
   */
  checker(run: Run): PermissionChecker {
    return new PermissionChecker(this, run);
  }

  requirePeers(): void {
    if (!this.mayAskPeers) throw peersDenied();
  }
}

function placed(denial: ReturnType<typeof collectionDenied>, at: string | undefined): Error {
  return at === undefined ? denial : new PeerError(denial.code, denial.message, { at });
}
