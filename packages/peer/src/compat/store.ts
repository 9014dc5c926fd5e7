/**
 * Store: the documents of an instance.
 */

import type { AnyValue } from "./any-value.ts";
import { Attachment } from "./attachment.ts";
import { AttachmentFetcher, type AttachmentFetchHandler } from "./attachment-fetcher.ts";
import type { AttachmentMetadata, AttachmentToken } from "./attachment-token.ts";
import { asDittoErrors, DittoError, withDittoErrors } from "./ditto-error.ts";
import type { Instance } from "./instance.ts";
import { Observation, type ObservationOptions } from "./observation.ts";
import { BoundQuery, type DQLQueryArguments, peerArguments } from "./query-arguments.ts";
import { QueryResult } from "./query-result.ts";
import { checkSelect } from "./statement-kind.ts";
import {
  type StoreObservationHandler,
  type StoreObservationHandlerWithSignalNext,
  StoreObserver,
} from "./store-observer.ts";
import {
  type QueryExecuting,
  Transaction,
  type TransactionCompletionAction,
  TransactionInfo,
  type TransactionOptions,
} from "./transaction.ts";

/** The transaction is rolled back because its function said so. */
class Rollback extends Error {}

export class Store<D extends Instance = Instance> implements QueryExecuting {
  readonly ditto: D;
  readonly #observers = new Set<StoreObserver<D>>();
  readonly #fetchers = new Set<AttachmentFetcher<D>>();
  readonly #transactions = new Set<TransactionInfo>();

  constructor(ditto: D) {
    this.ditto = ditto;
  }

  /** The observers that are active. */
  get observers(): Readonly<StoreObserver<D>[]> {
    return Object.freeze([...this.#observers]);
  }

  /** The fetches that run. */
  get attachmentFetchers(): Readonly<AttachmentFetcher<D>[]> {
    return Object.freeze([...this.#fetchers]);
  }

  /** The transactions that have begun and not ended. */
  get transactions(): TransactionInfo[] {
    return [...this.#transactions];
  }

  /** Runs a statement. It resolves when its writes are durable on this device. */
  async execute<T = AnyValue, U extends DQLQueryArguments = DQLQueryArguments>(
    query: string,
    queryArguments?: U,
  ): Promise<QueryResult<T>> {
    this.ditto.checkOpen();
    const args = peerArguments(queryArguments);
    return asDittoErrors(async () => {
      const peer = await this.ditto.opening.opened;
      return new QueryResult<T>(await peer.store.execute(query, args));
    });
  }

  /** Calls a function with the current rows of a SELECT, then each time they change. */
  registerObserver<T = AnyValue>(
    query: string,
    observationHandler: StoreObservationHandler<T>,
    queryArguments?: DQLQueryArguments,
  ): StoreObserver<D> {
    return this.#register(query, queryArguments, {
      handler: observationHandler,
      isSignalling: false,
    });
  }

  /** The same; the next result comes after the handler has called its second argument. */
  registerObserverWithSignalNext<T = AnyValue>(
    query: string,
    observationHandler: StoreObservationHandlerWithSignalNext<T>,
    queryArguments?: DQLQueryArguments,
  ): StoreObserver<D> {
    return this.#register(query, queryArguments, {
      handler: observationHandler,
      isSignalling: true,
    });
  }

  /**
   * Runs statements that take effect together when `scope` resolves. It rolls back if `scope` rejects
   * or resolves with `"rollback"`. If another write changed what it read, `scope` is called again.
   */
  async transaction<T = TransactionCompletionAction>(
    scope: (transaction: Transaction<Store<D>>) => Promise<T>,
    options: TransactionOptions = {},
  ): Promise<T> {
    this.ditto.checkOpen();
    const { isReadOnly = false, hint } = options;
    const info = new TransactionInfo(crypto.randomUUID(), isReadOnly, hint);
    const run = async (): Promise<T> => {
      const peer = await this.ditto.opening.opened;
      return peer.store.transaction(async (open) => {
        this.#transactions.add(info);
        const result = (await scope(new Transaction(this, info, open))) ?? ("commit" as T);
        if (result === "rollback") throw new Rollback();
        return result;
      });
    };
    try {
      return await asDittoErrors(run);
    } catch (error) {
      if (error instanceof Rollback) return "rollback" as T;
      throw error;
    } finally {
      this.#transactions.delete(info);
    }
  }

  /** Stores a content: bytes, or on Node the file at a path. */
  async newAttachment(
    pathOrData: string | Uint8Array,
    metadata: AttachmentMetadata = {},
  ): Promise<Attachment<D>> {
    this.ditto.checkOpen();
    try {
      const peer = await this.ditto.opening.opened;
      return new Attachment(this.ditto, await peer.attachments.create(pathOrData, metadata));
    } catch (error) {
      throw creationError(error);
    }
  }

  /** Gets a content, from this device or from the server. The token is that of a document. */
  fetchAttachment(
    token: AttachmentToken,
    eventHandler?: AttachmentFetchHandler<D>,
  ): AttachmentFetcher<D> {
    this.ditto.checkOpen();
    const forget = (ended: AttachmentFetcher<D>): boolean => this.#fetchers.delete(ended);
    const fetcher = new AttachmentFetcher(this.ditto, token, eventHandler, forget);
    this.#fetchers.add(fetcher);
    return fetcher;
  }

  /** Ends all observers and fetches. */
  close(): void {
    for (const observer of this.#observers) observer.cancel();
    for (const fetcher of this.#fetchers) fetcher.stop();
  }

  #register(
    query: string,
    given: DQLQueryArguments | undefined,
    options: Pick<ObservationOptions, "handler" | "isSignalling">,
  ): StoreObserver<D> {
    this.ditto.checkOpen();
    checkSelect(query, "an observer");
    if (typeof options.handler !== "function") {
      throw new TypeError(`expected a function as the handler, found ${typeof options.handler}`);
    }
    const bound = new BoundQuery(query, given);
    const { opening } = this.ditto;
    const onEnd = (): void => void this.#observers.delete(observer);
    const observation = withDittoErrors(
      () => new Observation({ ...options, opening, query: bound, onEnd }),
    );
    const observer = new StoreObserver(this.ditto, bound, observation);
    this.#observers.add(observer);
    return observer;
  }
}

const FILE_CODES = {
  ENOENT: "store/attachment-file-not-found",
  EACCES: "store/attachment-file-permission-denied",
  EPERM: "store/attachment-file-permission-denied",
} as const;

/** The error of the file, if that is the cause. */
function creationError(error: unknown): unknown {
  if (!(error instanceof Error) || error.name !== "PeerError") return error;
  const { code } = (error.cause ?? {}) as { readonly code?: string };
  const known = FILE_CODES[code as keyof typeof FILE_CODES] ?? "store/failed-to-create-attachment";
  return new DittoError(known, error.message, { cause: error });
}
