/**
 * Authority: the permissions of one caller, compiled, for all requests of the caller.
 *
 * It is cheap to create, because a token may bring one with each session: the rule of a collection
 * is compiled when a request first names it.
 */

import { PeerError, type Value } from "@bigpeer/protocol";
import type { CollectionUse } from "./collection-use.ts";
import { collectionDenied, otherPeersDenied, peersDenied, wholeDenied } from "./denial.ts";
import { type PermissionFilter, permissionFilter } from "./permission-filter.ts";
import { type AccessRule, type Permissions, permissionsValue } from "./permissions.ts";
import { joinKeys, type RuleKey } from "./rule-key.ts";

/** The rule of one collection. */
export interface CollectionRule {
  /** Every document is allowed, without an evaluation. */
  readonly isWhole: boolean;
  readonly filters: readonly PermissionFilter[];
  /** The values that all of its filters select by; undefined if they use more than equality. */
  readonly key?: RuleKey | undefined;
}

const WHOLE: CollectionRule = { isWhole: true, filters: [] };
/** Allows nothing. */
export const NO_RULE: CollectionRule = { isWhole: false, filters: [] };

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
    if (this.#rule.everything) return WHOLE;
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
  if (filters.some(({ isAlways }) => isAlways)) return WHOLE;
  return { isWhole: false, filters, key: joinKeys(filters.map(({ key }) => key)) };
}

export class Authority {
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

  requirePeers(): void {
    if (!this.mayAskPeers) throw peersDenied();
  }
}

function placed(denial: ReturnType<typeof collectionDenied>, at: string | undefined): Error {
  return at === undefined ? denial : new PeerError(denial.code, denial.message, { at });
}
