/**
 * Change streams: the endpoints of the change feed, `GET /store/changes` and
 * `POST /store/changes/ticket`, and the streams that are open.
 */

import type { ChangeFeed } from "@bigpeer/engine/changes";
import { ChangesGone } from "@bigpeer/engine/changes";
import type { Store } from "@bigpeer/engine/store";
import { PeerError } from "@bigpeer/protocol";
import { type Credential, ownerOf } from "../auth/credential.ts";
import { unauthorized } from "../auth/unauthorized.ts";
import { type Answer, createAnswer, type LiveContent } from "../http/answer.ts";
import type { HttpRequest } from "../http/http-request.ts";
import { Refusal, unavailable } from "../http/refusal.ts";
import { type Endpoint, messageBody, type Place } from "../http/router.ts";
import type { ChangeStreamTotals } from "../limits/change-stream-totals.ts";
import { type ChangeFormat, chooseChangeFormat } from "./change-format.ts";
import { type ChangeRequest, readChangeRequest } from "./change-request.ts";
import { ChangeStream, type FindCaller } from "./change-stream.ts";
import { awaitTransaction } from "./consistency.ts";
import type { Admitted, DataApp, DataGate } from "./data-gate.ts";
import { StreamTickets } from "./stream-tickets.ts";

export const CHANGES_PATH = "/store/changes";
export const CHANGES_TICKET_PATH = "/store/changes/ticket";

/** An app as the feed uses it. */
export interface FeedApp extends DataApp {
  readonly store: Store;
  readonly changes: ChangeFeed;
}

export interface ChangeStreamsOptions<App extends FeedApp> {
  readonly gate: Pick<DataGate<App>, "authenticate" | "authenticateAgain" | "isServing">;
  /** How long a cursor of another node of the cluster may be ahead. */
  readonly transactionWaitMs: number;
  readonly elapsed: () => number;
  /** The limit and the counts, which may be shared with the streams of another listener. */
  readonly totals: ChangeStreamTotals;
  readonly onRefused: (bound: string) => void;
  readonly onFault: (error: unknown) => void;
}

export class ChangeStreams<App extends FeedApp> {
  readonly #options: ChangeStreamsOptions<App>;
  readonly #tickets: StreamTickets;
  readonly #streams = new Set<ChangeStream>();
  #isClosing = false;

  constructor(options: ChangeStreamsOptions<App>) {
    this.#options = options;
    this.#tickets = new StreamTickets(options.elapsed);
  }

  get endpoints(): Endpoint[] {
    return [
      {
        name: "changes",
        path: CHANGES_PATH,
        methods: ["GET"],
        failureBody: messageBody,
        answer: (request, place) => this.#answer(request, place),
      },
      {
        name: "changes_ticket",
        path: CHANGES_TICKET_PATH,
        methods: ["POST"],
        failureBody: messageBody,
        answer: (request, place) => this.#ticket(request, place),
      },
    ];
  }

  /** Keys, tokens or apps have changed: callers may have other permissions. */
  registryChanged(): void {
    for (const stream of this.#streams) stream.check();
  }

  /** Ends all streams, with a hint that the server closes. */
  close(): void {
    this.#isClosing = true;
    this.dismissAll();
  }

  /** Ends all streams as a server does that closes: their clients connect to another node. */
  dismissAll(): void {
    for (const stream of this.#streams) stream.end("closing");
  }

  async #ticket(request: HttpRequest, place: Place): Promise<Answer> {
    const { use, app, credential } = await this.#options.gate.authenticate(request, place);
    use.release();
    const { authorization = "" } = request.headers;
    const owner = ownerOf(app.id, credential);
    const ticket = this.#tickets.issue(owner, { authorization, appId: place.appId });
    if (ticket === undefined) {
      this.#options.onRefused("tickets");
      throw unavailable("too many tickets have not been used yet", 10);
    }
    return createAnswer(200, { ticket });
  }

  async #answer(request: HttpRequest, place: Place): Promise<Answer> {
    const lastEventId = request.headers["last-event-id"];
    const asked = readChangeRequest(
      place.query,
      Array.isArray(lastEventId) ? undefined : lastEventId,
    );
    const authorization = this.#authorizationOf(request, place, asked);
    const admitted = await this.#options.gate.authenticate(request, place, authorization);
    try {
      const { app, credential } = admitted;
      await this.#awaitCursor(request, app, asked.request.since);
      const findCaller = this.#callerFinder(request, place, authorization);
      const format = chooseChangeFormat(request.headers.accept);
      const stream = this.#open(app, credential, { asked, format, findCaller });
      const body = this.#contentOf(stream, ownerOf(app.id, credential), admitted.use);
      return { status: 200, headers: headersOf(format), body };
    } catch (error) {
      admitted.use.release();
      if (!(error instanceof ChangesGone)) throw error;
      const { message, oldest } = error;
      return createAnswer(410, { message: `${message} (${error.code})`, oldest });
    }
  }

  /** The credential of the request, or the one that its ticket stands for. */
  #authorizationOf(
    { headers }: HttpRequest,
    { appId }: Place,
    { ticket }: ChangeRequest,
  ): string | undefined {
    if (ticket === undefined) return headers.authorization;
    if (headers.authorization !== undefined) {
      throw new Refusal(400, "expected a ticket or the header Authorization, found both");
    }
    const ticketed = this.#tickets.redeem(ticket);
    if (ticketed === undefined || ticketed.appId !== appId) {
      throw unauthorized("the ticket is not known, was used or has expired; ask for another one");
    }
    return ticketed.authorization;
  }

  /** Throws a Refusal when there are too many, and the errors of ChangeFeed.open. */
  #open(
    app: App,
    credential: Credential,
    {
      asked,
      format,
      findCaller,
    }: {
      readonly asked: ChangeRequest;
      readonly format: ChangeFormat;
      readonly findCaller: FindCaller;
    },
  ): ChangeStream {
    if (this.#isClosing) throw unavailable("the server is closing", 1);
    const owner = ownerOf(app.id, credential);
    const { totals } = this.#options;
    if (!totals.shares.take(owner)) {
      this.#options.onRefused("change_streams");
      throw unavailable("the server, or this credential, has too many streams of changes", 5);
    }
    try {
      const { authority } = credential;
      return new ChangeStream({
        reader: app.changes.open({ ...asked.request, authority }),
        authority,
        format,
        waitMs: asked.waitMs,
        findCaller,
        onLines: (count) => {
          totals.lineCount += count;
        },
        onFault: this.#options.onFault,
      });
    } catch (error) {
      totals.shares.give(owner);
      throw error;
    }
  }

  /** The content of an answer, which ends the use of the app with the stream. */
  #contentOf(stream: ChangeStream, owner: string, use: Admitted<App>["use"]): LiveContent {
    this.#streams.add(stream);
    const leave = (): void => {
      if (!this.#streams.delete(stream)) return;
      this.#options.totals.shares.give(owner);
      use.release();
    };
    const drop = (): void => {
      stream.drop();
      leave();
    };
    return { kind: "live", run: (sink) => stream.run(sink).finally(leave), drop };
  }

  #callerFinder(request: HttpRequest, place: Place, authorization: string | undefined): FindCaller {
    const { gate } = this.#options;
    return async () => {
      const admitted = await gate
        .authenticateAgain(request, place, authorization)
        .catch((error: unknown) => {
          throw isUnavailable(error) ? uncheckable(error) : error;
        });
      admitted?.use.release();
      if (admitted === undefined && !gate.isServing) throw uncheckable();
      return admitted && { authority: admitted.credential.authority };
    };
  }

  /** In a cluster, a node may be behind the one that gave the cursor. */
  async #awaitCursor(request: HttpRequest, app: App, since: string | undefined): Promise<void> {
    if (since === undefined) return;
    const txnId = app.changes.transactionOf(since);
    if (txnId === undefined || txnId <= app.store.txnId || !app.store.isFollowing) return;
    await awaitTransaction(app.store, BigInt(txnId), {
      waitMs: this.#options.transactionWaitMs,
      status: 503,
      onHangUp: (leave) => request.onHangUp(leave),
      turn: async () => {},
    });
  }
}

/** Ends what a node serves that is cut off from its cluster. */
export function dismissAll(
  served: readonly ({ dismissAll(reason: string): void } | undefined)[],
): void {
  for (const each of served) each?.dismissAll("this node is cut off from its cluster");
}

/** Such as a provider whose keys cannot be had now. */
function isUnavailable(error: unknown): boolean {
  return error instanceof Refusal && error.status === 503;
}

/** Whether the credential is valid is not known: the stream ends as one of a server that closes. */
function uncheckable(cause?: unknown): PeerError {
  return new PeerError("store.closed", "the credential cannot be checked here now", { cause });
}

function headersOf({ contentType }: ChangeFormat): { readonly [name: string]: string } {
  return {
    "content-type": contentType,
    "cache-control": "no-store, no-transform",
    // nginx would hold the lines back.
    "x-accel-buffering": "no",
    vary: "accept, accept-encoding, authorization",
  };
}
