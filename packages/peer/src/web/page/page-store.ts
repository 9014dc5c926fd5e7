/**
 * Page store: `peer.store` on a page. Statements run in the worker; functions of the app run here.
 */

import type { RefusedUpload } from "@bigpeer/engine/peer";
import { PeerError } from "@bigpeer/protocol";
import { checkQuery, checkScope, observerArguments } from "../../argument-check.ts";
import { Gate } from "../../gate.ts";
import type {
  Arguments,
  QueryResult,
  StoreTransaction,
  TransactionResult,
} from "../../local-store.ts";
import type { ObserverCallback, StoreObserver } from "../../observer.ts";
import { ownCopy, type PlainObject, type PlainValue } from "../../plain-value.ts";
import type { WorkerContent } from "../messages.ts";
import { rowsFrom, type SentRows } from "../sent-rows.ts";
import type { BrowserDocuments } from "./page-interface.ts";
import { isLost, type WorkerLink } from "./worker-link.ts";

interface PageObserver extends StoreObserver {
  isCancelled: boolean;
  readonly args: unknown;
  readonly callback: ObserverCallback<never>;
  readonly onFailed: (error: Error) => unknown;
}

type ObserverRows = Extract<WorkerContent, { readonly kind: "rows" }>;

type Scope = (transaction: StoreTransaction) => Promise<unknown>;

/** What became of the last run of a function of a transaction. */
interface Ran {
  value?: unknown;
  error?: unknown;
}

interface HeldScope {
  readonly scope: Scope;
  ran: Ran | undefined;
  /** Whether a statement of the last run wrote. */
  isWriting: boolean;
}

export interface PageStoreOptions {
  readonly link: WorkerLink;
  readonly onError: (error: unknown) => void;
  /** Called after each write of this page. */
  readonly onWrite: () => void;
}

export class PageStore implements BrowserDocuments {
  readonly #link: WorkerLink;
  readonly #options: PageStoreOptions;
  readonly #observers = new Map<number, PageObserver>();
  readonly #scopes = new Map<number, HeldScope>();
  /** By result and observer: rows of which more follow. */
  readonly #parts = new Map<number, PlainValue[][]>();
  #count = 0;

  constructor(options: PageStoreOptions) {
    this.#link = options.link;
    this.#options = options;
  }

  async execute<T = PlainObject>(statement: string, args?: Arguments): Promise<QueryResult<T>> {
    const id = ++this.#count;
    this.#parts.set(id, []);
    try {
      const { rows, ...rest } = await this.#link.call("execute", id, statement, ownCopy(args));
      if (rest.commitId !== undefined) this.#options.onWrite();
      return { items: this.#complete(id, rows) as T[], ...rest };
    } finally {
      this.#parts.delete(id);
    }
  }

  registerObserver<T = PlainObject>(query: string, callback: ObserverCallback<T>): StoreObserver;
  registerObserver<T = PlainObject>(
    query: string,
    args: Arguments | undefined,
    callback: ObserverCallback<T>,
    onFailed?: (error: Error) => unknown,
  ): StoreObserver;
  registerObserver(
    query: string,
    second: Arguments | ObserverCallback<never> | undefined,
    third?: ObserverCallback<never>,
    onFailed: (error: Error) => unknown = this.#options.onError,
  ): StoreObserver {
    const { args, callback } = observerArguments<Arguments, ObserverCallback<never>>(second, third);
    checkQuery(query);
    const id = ++this.#count;
    const observer: PageObserver = {
      query,
      args: ownCopy(args),
      callback,
      onFailed,
      isCancelled: false,
      cancel: () => this.#cancel(id),
    };
    this.#observers.set(id, observer);
    this.#register(id, observer);
    return observer;
  }

  get observers(): StoreObserver[] {
    return [...this.#observers.values()];
  }

  async transaction<T>(scope: (transaction: StoreTransaction) => Promise<T>): Promise<T> {
    checkScope(scope);
    const id = ++this.#count;
    const held: HeldScope = { scope, ran: undefined, isWriting: false };
    this.#scopes.set(id, held);
    try {
      await this.#link.call("runTransaction", id);
      if (held.isWriting) this.#options.onWrite();
      return held.ran?.value as T;
    } catch (error) {
      // The error of the app itself, not the copy that went through the worker.
      throw held.ran !== undefined && "error" in held.ran ? held.ran.error : error;
    } finally {
      this.#scopes.delete(id);
    }
  }

  refused(): Promise<readonly RefusedUpload[]> {
    return this.#link.call("listRefused");
  }

  clearRefused(commitId?: number): Promise<number> {
    return this.#link.call("clearRefused", commitId);
  }

  /** Runs the function of a transaction, at the request of the worker. */
  async runScope(id: number): Promise<void> {
    const held = this.#scopes.get(id);
    if (held === undefined) throw new PeerError("store.closed", "the transaction has ended");
    const execute = async <T>(statement: string, args?: Arguments) => {
      const result = await this.#link.call("executeIn", id, statement, ownCopy(args));
      if (result.mutatedDocumentIds.length > 0) held.isWriting = true;
      return result as TransactionResult<T>;
    };
    held.ran = undefined;
    held.isWriting = false;
    try {
      held.ran = { value: await held.scope({ execute }) };
    } catch (error) {
      held.ran = { error };
      throw error;
    }
  }

  /** Rows of a result or an observer, of which more follow. */
  take(id: number, rows: SentRows): void {
    this.#parts.get(id)?.push(rowsFrom(rows));
  }

  /** The last rows of an observer. The worker sends the next ones when the callback is ready. */
  async deliver({ observer: id, rows, pendingIds }: ObserverRows): Promise<void> {
    const items = this.#complete(id, rows) as never[];
    const observer = this.#observers.get(id);
    if (observer === undefined) return;
    const { callback } = observer;
    const signalled = new Gate();
    try {
      await callback({ items, pendingIds: [...pendingIds] }, () => signalled.open());
      if (callback.length > 1) await signalled.opened;
    } catch (error) {
      this.#options.onError(error);
    }
    this.#link.post({ kind: "next", observer: id });
  }

  /** Without an error, it was cancelled, or an older worker reports the error as an event. */
  ended(id: number, error?: Error): void {
    const observer = this.#observers.get(id);
    this.#observers.delete(id);
    this.#parts.delete(id);
    if (observer === undefined) return;
    observer.isCancelled = true;
    if (error !== undefined) observer.onFailed(error);
  }

  /** The worker is a new one. */
  restore(): void {
    for (const [id, observer] of this.#observers) this.#register(id, observer);
  }

  close(): void {
    for (const id of this.#observers.keys()) this.ended(id);
  }

  /** All rows, of which these are the last. */
  #complete(id: number, last: SentRows): PlainValue[] {
    const parts = this.#parts.get(id)?.splice(0) ?? [];
    const rows = rowsFrom(last);
    return parts.length === 0 ? rows : [...parts, rows].flat(1);
  }

  #register(id: number, { query, args }: PageObserver): void {
    this.#parts.set(id, []);
    this.#link.call("observe", id, query, args).catch((error: unknown) => {
      // A new worker gets it again.
      if (!this.#observers.has(id) || isLost(error)) return;
      this.ended(id, error as Error);
    });
  }

  #cancel(id: number): void {
    if (!this.#observers.has(id)) return;
    this.ended(id);
    this.#link.call("cancelObserver", id).catch(() => {});
  }
}
