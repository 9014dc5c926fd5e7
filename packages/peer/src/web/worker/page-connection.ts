/**
 * Page connection: the messages between the worker and one page, until the page is gone.
 *
 * A page that crashes says nothing. But it holds a Web Lock, which the browser releases then.
 */

import { PeerError } from "@bigpeer/protocol";
import type { PeerEvents } from "../../peer-events.ts";
import {
  type Answers,
  type CallName,
  type Outcome,
  PAGE_PROTOCOL,
  type PageMessage,
  type PageOptions,
  type Question,
  type WorkerContent,
  type WorkerMessage,
} from "../messages.ts";
import { otherBuild, sentError } from "../sent-error.ts";
import { listen, type WebPort, web } from "../web-globals.ts";
import { pause } from "../web-host.ts";
import type { AttachedPage } from "./attached-page.ts";
import { Moved } from "./moved.ts";
import { PageQuestions } from "./page-questions.ts";
import { PageSession, stateOf } from "./page-session.ts";
import type { WorkerHost } from "./worker-host.ts";

/** The compiler checks that none is missing. A page can call nothing else. */
const CALLS: { readonly [Name in CallName]: true } = {
  execute: true,
  runTransaction: true,
  executeIn: true,
  observe: true,
  cancelObserver: true,
  subscribe: true,
  whenReady: true,
  cancelSubscription: true,
  startSync: true,
  stopSync: true,
  logout: true,
  listRefused: true,
  clearRefused: true,
  watchPresence: true,
  setPeerMetadata: true,
  attach: true,
  erase: true,
};

/** A write causes several of these besides its outcome: together they are one message. */
const NOTICES: ReadonlySet<WorkerMessage["kind"]> = new Set([
  "state",
  "event",
  "subscription",
  "observerEnded",
]);

/** Connects a new page to the host. */
export function connectPage(port: WebPort, host: WorkerHost): void {
  const hello: WorkerMessage = { instance: host.instance, kind: "hello" };
  port.postMessage(hello);
  listen(port, (message: PageMessage) => {
    if (message.kind !== "open") return;
    const { options, pageId, protocol } = message;
    const connection = new PageConnection({ port, host, options });
    if (protocol === PAGE_PROTOCOL) void connection.open(pageId);
    else connection.refuse(protocol < PAGE_PROTOCOL ? otherBuild() : olderWorker());
  });
}

export interface PageConnectionOptions {
  readonly port: WebPort;
  readonly host: WorkerHost;
  readonly options: PageOptions;
}

export class PageConnection implements AttachedPage {
  readonly options: PageOptions;
  readonly #port: WebPort;
  readonly #host: WorkerHost;
  readonly #questions: PageQuestions;
  readonly #watch = new AbortController();
  #session: PageSession | undefined;
  /** Notices that are not sent yet. */
  #held: WorkerMessage[] = [];
  isClosed = false;

  constructor({ port, host, options }: PageConnectionOptions) {
    this.options = options;
    this.#port = port;
    this.#host = host;
    this.#questions = new PageQuestions({
      send: (id, question) => this.#send({ kind: "question", id, question }),
      ping: () => this.#send({ kind: "ping" }),
    });
    listen(port, (message: PageMessage) => this.#receive(message));
  }

  async open(pageId: string): Promise<void> {
    this.#watchPage(pageId);
    try {
      const { peer, id, warnings } = await this.#host.attach(this);
      if (this.isClosed) return;
      this.#session = new PageSession({
        peer,
        questions: this.#questions,
        send: (content) => this.#send(content),
        erase: (isForced) => this.#host.erase(this, isForced),
      });
      this.#send({ kind: "opened", state: stateOf(peer), opening: id });
      for (const warning of warnings) this.emit("warning", warning);
    } catch (error) {
      if (error instanceof Moved) this.move(error.url, error.protocol);
      else this.refuse(error);
    }
  }

  refuse(error: unknown): void {
    this.#send({ kind: "refused", error: sentError(error) });
    this.#leave();
  }

  /** The peer is in another worker; without a URL only a reload helps. */
  move(url: string | undefined, protocol: number): void {
    if (url === undefined) this.refuse(otherBuild());
    else {
      this.#send({ kind: "moved", url, protocol });
      this.#leave();
    }
  }

  /**
   * The peer closes, and the page gets another one: from now on it learns nothing of this one. Its
   * open transaction ends with the error.
   */
  suspend(error: PeerError): void {
    this.#questions.close(error);
    this.#session?.close();
    this.#session = undefined;
  }

  /** The page must open the peer again. */
  restart(): void {
    this.#send({ kind: "restart" });
    this.#leave();
  }

  /** The peer is closed for good. */
  end(): void {
    this.refuse(new PeerError("store.closed", "the documents of this peer were erased"));
  }

  ask<Asked extends Question>(question: Asked): Promise<Answers[Asked["kind"]]> {
    return this.#questions.ask(question);
  }

  emit<Name extends keyof PeerEvents>(name: Name, details: PeerEvents[Name]): void {
    if (this.#session === undefined) return;
    this.#session.refresh();
    const sent = name === "error" ? sentError(details) : details;
    this.#send({ kind: "event", name, details: sent } as WorkerContent);
  }

  #receive(message: PageMessage): void {
    this.#questions.heard();
    switch (message.kind) {
      case "call":
        return void this.#call(message);
      case "answer":
        return this.#questions.answer(message.id, message.outcome);
      case "next":
        return this.#session?.next(message.observer);
      case "leave":
        return void this.#close();
      case "close":
        return void this.#close().finally(() => this.#send({ kind: "closed" }));
      case "open":
      case "pong":
        return;
    }
  }

  async #call({ id, name, args }: Extract<PageMessage, { kind: "call" }>): Promise<void> {
    const session = this.#session;
    if (session === undefined) return this.#send({ kind: "undone", id });
    this.#send({ kind: "outcome", id, outcome: await this.#outcomeOf(session, name, args) });
  }

  async #outcomeOf(
    session: PageSession,
    name: CallName,
    args: readonly unknown[],
  ): Promise<Outcome> {
    try {
      if (!Object.hasOwn(CALLS, name)) throw otherBuild();
      const method = session[name] as (...args: readonly unknown[]) => Promise<unknown>;
      const value = await method.apply(session, args as unknown[]);
      session.refresh();
      return { kind: "returned", value };
    } catch (error) {
      return { kind: "threw", error: sentError(error) };
    }
  }

  /** Ends this connection when the page is gone. */
  #watchPage(pageId: string): void {
    const { signal } = this.#watch;
    web.navigator.locks.request(pageId, { signal }, () => void this.#close()).catch(() => {});
  }

  /** Resolves when the peer is closed, if this was the last page. */
  async #close(): Promise<void> {
    if (!this.isClosed) this.#leave();
    await this.#host.detach(this);
  }

  #leave(): void {
    this.isClosed = true;
    this.#watch.abort();
    this.#held = [];
    this.suspend(new PeerError("store.closed", "the page is gone"));
  }

  #send(content: WorkerContent): void {
    const message: WorkerMessage = { instance: this.#host.instance, ...content };
    if (NOTICES.has(message.kind)) this.#hold(message);
    else this.#post(message);
  }

  /** A notice is sent with the next message; at the latest when the current work is done. */
  #hold(notice: WorkerMessage): void {
    if (this.#held.push(notice) > 1) return;
    void pause().then(() => {
      if (this.#held.length > 0) this.#post();
    });
  }

  #post(...last: WorkerMessage[]): void {
    const messages = [...this.#held, ...last];
    this.#held = [];
    this.#port.postMessage(messages.length === 1 ? messages[0] : messages);
  }
}

/** The page has loaded a newer version from the address of this worker, which still runs. */
function olderWorker(): PeerError {
  const message = "other tabs run an older version of this app";
  return new PeerError("store.in_use", message, { hint: "close all tabs of this app" });
}
