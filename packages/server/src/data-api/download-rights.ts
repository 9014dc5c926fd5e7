/**
 * Download rights: whether the caller of a download may still read the content. The answer can
 * change while the content is sent: a key is deleted, a token expires, a document that refers to the
 * content changes (H57).
 */

import type { StatementRunner } from "@bigpeer/engine/query";
import type { Store } from "@bigpeer/engine/store";
import type { Credential } from "../auth/credential.ts";
import type { HttpRequest } from "../http/http-request.ts";
import type { Place } from "../http/router.ts";
import type { DataApp, DataGate } from "./data-gate.ts";

/** An app as the check uses it. */
export interface ReadApp extends DataApp {
  readonly store: Store;
  readonly statements: Pick<StatementRunner, "mayReadAttachment">;
}

/** A download whose caller may read the content. */
export interface Download {
  readonly request: HttpRequest;
  readonly place: Place;
  /** The attachment. */
  readonly id: string;
  readonly credential: Credential;
  /** Last transaction before the check. */
  readonly txnId: number;
}

/**
 * A check of many documents takes long, and it may be due for each piece. It has at most this share
 * of the time, and is at most so late.
 */
const CHECK_SHARE = 0.1;
const CHECK_LATE_MS_MAX = 1_000;

export class DownloadRights<App extends ReadApp> {
  readonly #gate: Pick<DataGate<App>, "authenticateAgain">;
  readonly #download: Download;
  #credential: Credential;
  #txnId: number;
  /** When the documents may be checked again. */
  #nextMs = 0;

  constructor(gate: Pick<DataGate<App>, "authenticateAgain">, download: Download) {
    this.#gate = gate;
    this.#download = download;
    this.#credential = download.credential;
    this.#txnId = download.txnId;
  }

  /** Whether the caller may read the content now. Never rejects. */
  async areHeld(): Promise<boolean> {
    const { request, place } = this.#download;
    try {
      const admitted = await this.#gate.authenticateAgain(request, place);
      if (admitted === undefined) return false;
      try {
        return await this.#mayRead(admitted.app, admitted.credential);
      } finally {
        admitted.use.release();
      }
    } catch {
      // What cannot be checked is not sent; the same request again gets the reason.
      return false;
    }
  }

  /** Checks the documents only if the credential or the store is not as at the last check. */
  async #mayRead({ store, statements }: App, credential: Credential): Promise<boolean> {
    const { authority } = credential;
    if (authority === undefined || authority.isReadingAll) return true;
    const txnId = lastTransaction(store);
    const startMs = performance.now();
    const isSameCaller = credential === this.#credential;
    if (isSameCaller && (txnId === this.#txnId || startMs < this.#nextMs)) return true;
    const mayRead = await statements.mayReadAttachment(this.#download.id, authority);
    const tookMs = performance.now() - startMs;
    this.#nextMs = startMs + tookMs + Math.min(tookMs / CHECK_SHARE, CHECK_LATE_MS_MAX);
    this.#credential = credential;
    this.#txnId = txnId;
    return mayRead;
  }
}

export function lastTransaction(store: Store): number {
  return store.read((view) => view.head.txnId);
}
