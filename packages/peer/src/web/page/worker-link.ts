/**
 * Worker link: the connection of a page to the worker that runs its peer.
 *
 * A browser may end a worker at any time, or start it again in silence. The link notices both: the
 * worker holds a Web Lock for as long as it lives, and each of its messages names its instance. Then
 * the link connects again, and the page registers everything again.
 */

import { PeerError } from "@bigpeer/protocol";
import { Gate } from "../../gate.ts";
import {
  type CallName,
  type Outcome,
  PAGE_PROTOCOL,
  type PageMessage,
  type PageOptions,
  type PeerNotice,
  type Question,
  type WorkerCalls,
  type WorkerMessage,
  type WorkerPost,
} from "../messages.ts";
import { errorFrom, otherBuild, sentError } from "../sent-error.ts";
import { listen, type PageShown, type WebPort, web } from "../web-globals.ts";
import { workerLock } from "../worker-lock.ts";
import { PageLock } from "./page-lock.ts";

/** Connections in a row that may end before they are of use. */
const TRIES_MAX = 3;

/** How long it may take to open a peer. */
const OPEN_MS_MAX = 30_000;

/** A page repeats these itself after a restart; without a worker there is nothing to do. */
const REGISTRATIONS: ReadonlySet<CallName> = new Set([
  "observe",
  "cancelObserver",
  "subscribe",
  "whenReady",
  "cancelSubscription",
  "watchPresence",
]);

/** A port to a worker. */
export interface WorkerPort {
  readonly port: WebPort;
  /** Rejects if the script of the worker cannot be loaded. */
  readonly failed: Promise<never>;
  /**
   * How long to wait until the worker says hello. A browser may connect a page to a worker that is
   * ending, for example during a reload; then another port reaches the next one.
   */
  readonly helloMsMax: number;
}

export interface WorkerLinkOptions {
  readonly options: PageOptions;
  /** Connects to the worker with this script; undefined for the usual one. */
  readonly connect: (url: string | undefined) => Promise<WorkerPort>;
  /** Receives all messages that the link does not handle itself. */
  readonly onMessage: (message: PeerNotice) => void;
  readonly onQuestion: (question: Question) => Promise<unknown>;
  /** The session of the page is a new one: everything must be registered again. */
  readonly onRestart: (opened: Opened) => void;
  /** There will be no worker any more. */
  readonly onEnd: (error: Error) => void;
}

interface Waiting {
  readonly call: Extract<PageMessage, { kind: "call" }>;
  /** Not sent yet, or left to the next worker. */
  isUndone: boolean;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: Error) => void;
}

export class WorkerLink {
  readonly #options: WorkerLinkOptions;
  readonly #waiting = new Map<number, Waiting>();
  #page: PageLock | undefined;
  #port: WebPort | undefined;
  #instance: string | undefined;
  /** Ends the watch over the worker in use. */
  #watch: AbortController | undefined;
  /** Opens when the next worker is in use. */
  #restarting: Gate | undefined;
  /** Opens when the browser shows the page again. */
  #away: Gate | undefined;
  /** While the link connects: gives the worker up that it waits for. */
  #giveUp: (() => void) | undefined;
  /** How long the link tries to connect. */
  #untilMs = 0;
  /** Where the worker has moved. */
  #url: string | undefined;
  #count = 0;
  #isClosed = false;
  #closing: Promise<void> | undefined;

  constructor(options: WorkerLinkOptions) {
    this.#options = options;
  }

  /** Rejects with the error for which the worker refuses the page. */
  async open(): Promise<Opened> {
    // The worker starts while the page waits for its lock.
    const first = this.#options.connect(this.#url);
    first.catch(() => {});
    web.addEventListener("pagehide", this.#hidden);
    web.addEventListener("pageshow", this.#shown);
    try {
      return await this.#connect(first);
    } catch (error) {
      void this.close();
      throw error;
    }
  }

  /** Rejects with `store.write_failed` if the worker ends before it answers; see `isLost`. */
  async call<Name extends CallName>(
    name: Name,
    ...args: Parameters<WorkerCalls[Name]>
  ): Promise<Awaited<ReturnType<WorkerCalls[Name]>>> {
    if (this.#isClosed) throw closed();
    const isUndone = this.#port === undefined;
    if (isUndone && REGISTRATIONS.has(name)) throw lost();
    const id = ++this.#count;
    const call = { kind: "call", id, name, args } as const;
    const outcome = new Promise<unknown>((resolve, reject) => {
      this.#waiting.set(id, { call, isUndone, resolve, reject });
    });
    try {
      if (isUndone) structuredClone(call);
      else this.post(call);
    } catch (cause) {
      this.#waiting.delete(id);
      const message = "expected values as arguments, found something that a message cannot hold";
      throw new PeerError("query.arguments", message, { cause });
    }
    return (await outcome) as Awaited<ReturnType<WorkerCalls[Name]>>;
  }

  /** Resolves when there is a worker, and all is registered with it. Rejects when there is none. */
  async connected(): Promise<void> {
    await this.#away?.opened;
    await this.#restarting?.opened;
    if (this.#isClosed) throw closed();
  }

  /** Sends a message that only the worker in use understands. */
  post(message: PageMessage): void {
    this.#port?.postMessage(message);
  }

  /** Resolves when the worker has ended the session of this page, or has ended itself. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#isClosed = true;
    web.removeEventListener("pagehide", this.#hidden);
    web.removeEventListener("pageshow", this.#shown);
    const port = this.#disconnect();
    this.#rejectAll(closed());
    this.#away?.open();
    this.#away = undefined;
    this.#restarting?.open();
    await this.#leave(port);
    this.#page?.release();
  }

  /**
   * The browser may keep this page while another one is shown. It drops a page that gets a message
   * meanwhile, so the page leaves its worker, which must not answer.
   */
  readonly #hidden = ({ persisted }: PageShown): void => {
    if (!persisted) return;
    this.#away ??= new Gate();
    this.post({ kind: "leave" });
    void forget(this.#disconnect());
    this.#giveUp?.();
    this.#releasePage();
  };

  /** The page is back. A browser may also have released its lock by itself. */
  readonly #shown = ({ persisted }: PageShown): void => {
    if (!persisted) return;
    this.#releasePage();
    this.#untilMs = performance.now() + OPEN_MS_MAX;
    this.#away?.open();
    this.#away = undefined;
    if (this.#giveUp === undefined) void this.#restart();
    else this.#giveUp();
  };

  #releasePage(): void {
    this.#page?.release();
    this.#page = undefined;
  }

  /** Resolves when the browser shows the page, and the page has its lock. */
  async #present(): Promise<void> {
    while (this.#away !== undefined || this.#page === undefined) {
      await this.#away?.opened;
      this.#page ??= await PageLock.hold();
      if (this.#isClosed) {
        this.#releasePage();
        throw closed();
      }
    }
  }

  async #connect(first?: Promise<WorkerPort>): Promise<Opened> {
    this.#giveUp = () => {};
    this.#untilMs = performance.now() + OPEN_MS_MAX;
    try {
      return await this.#meet(first);
    } finally {
      this.#giveUp = undefined;
    }
  }

  async #meet(first?: Promise<WorkerPort>): Promise<Opened> {
    let connecting = first;
    for (let tries = 1; ; ) {
      // A page that is hidden connects to no worker, which would answer.
      if (connecting === undefined) await this.#present();
      const worker = await (connecting ?? this.#options.connect(this.#url));
      connecting = undefined;
      await this.#present();
      const answer = await this.#greet(worker).catch((error: unknown) => {
        // The worker of another build has ended, and the server may not have its script any more.
        if (this.#url === undefined) throw error;
        this.#url = undefined;
        return { kind: "ended" } as const;
      });
      switch (answer?.kind) {
        case "opened":
          if (!this.#isClosed) this.#use(worker.port, answer.instance);
          return answer;
        case "moved":
          if (answer.protocol !== PAGE_PROTOCOL || ++tries > TRIES_MAX) throw otherBuild();
          this.#url = answer.url;
          break;
        case "refused":
          throw errorFrom(answer.error);
        case "hidden":
          break;
        case "ended":
          if (++tries > TRIES_MAX) throw lost();
          break;
        case undefined:
          if (performance.now() >= this.#untilMs) throw silent();
      }
    }
  }

  /** Resolves with the first answer of a worker; undefined if it says nothing. */
  async #greet({ port, failed, helloMsMax }: WorkerPort): Promise<Greeting> {
    const watch = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const answered = new Promise<Greeting>((resolve) => {
      this.#giveUp = () => {
        port.postMessage({ kind: "leave" } satisfies PageMessage);
        resolve({ kind: "hidden" });
      };
      const waitFor = (ms: number): void => {
        clearTimeout(timer);
        timer = setTimeout(
          () => resolve(undefined),
          Math.min(ms, this.#untilMs - performance.now()),
        );
      };
      hear(port, (data) => {
        if (data.kind === "hello") {
          waitFor(OPEN_MS_MAX);
          whenEnded(data.instance, watch, () => resolve({ kind: "ended" }));
          const { options } = this.#options;
          const pageId = this.#page?.id ?? "";
          const open: PageMessage = { kind: "open", protocol: PAGE_PROTOCOL, pageId, options };
          port.postMessage(open);
        }
        if (data.kind === "opened" || data.kind === "moved" || data.kind === "refused") {
          resolve(data);
        }
      });
      waitFor(helloMsMax);
    });
    try {
      const greeting = await Promise.race([answered, failed]);
      if (greeting === undefined || greeting.kind === "hidden") listen(port, undefined);
      return greeting;
    } finally {
      clearTimeout(timer);
      watch.abort();
    }
  }

  #use(port: WebPort, instance: string): void {
    this.#port = port;
    this.#instance = instance;
    hear(port, (message) => this.#receive(message));
    this.#watch = new AbortController();
    whenEnded(instance, this.#watch, () => void this.#restart());
  }

  #receive(message: WorkerMessage): void {
    if (message.instance !== this.#instance) return void this.#restart();
    switch (message.kind) {
      case "outcome":
        return this.#settle(message.id, message.outcome);
      case "undone":
        return this.#keep(message.id);
      case "question":
        return void this.#answer(message.id, message.question);
      case "ping":
        return this.post({ kind: "pong" });
      case "moved":
        this.#url = message.url;
        return void this.#restart(this.#leave);
      case "restart":
        return void this.#restart(this.#leave);
      case "refused":
        return this.#end(errorFrom(message.error));
      case "hello":
      case "opened":
      case "closed":
        return;
      default:
        return this.#options.onMessage(message);
    }
  }

  /** The call is for the next worker. */
  #keep(id: number): void {
    const waiting = this.#waiting.get(id);
    if (waiting === undefined) return;
    waiting.isUndone = true;
    if (!REGISTRATIONS.has(waiting.call.name)) return;
    this.#waiting.delete(id);
    waiting.reject(lost());
  }

  #settle(id: number, outcome: Outcome): void {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    if (outcome.kind === "returned") waiting?.resolve(outcome.value);
    else waiting?.reject(errorFrom(outcome.error));
  }

  async #answer(id: number, question: Question): Promise<void> {
    const port = this.#port;
    let outcome: Outcome;
    try {
      outcome = { kind: "returned", value: await this.#options.onQuestion(question) };
    } catch (error) {
      outcome = { kind: "threw", error: sentError(error) };
    }
    // The next worker has questions with the same numbers.
    if (port === this.#port) this.post({ kind: "answer", id, outcome });
  }

  /** Connects again, after it has left the old worker. */
  async #restart(leave: Leave = forget): Promise<void> {
    if (this.#isClosed || this.#restarting !== undefined) return;
    const restarting = new Gate();
    this.#restarting = restarting;
    try {
      await leave(this.#disconnect());
      this.#rejectAll(lost(), ({ isUndone }) => !isUndone);
      const opened = await this.#connect();
      this.#restarting = undefined;
      if (!this.#isClosed) this.#goOn(opened);
    } catch (error) {
      this.#restarting = undefined;
      this.#end(error instanceof Error ? error : new Error(String(error)));
    } finally {
      restarting.open();
    }
  }

  #goOn(opened: Opened): void {
    const undone = [...this.#waiting.values()];
    this.#options.onRestart(opened);
    for (const waiting of undone) {
      waiting.isUndone = false;
      this.post(waiting.call);
    }
  }

  /** Ends the use of the worker, and returns its port. */
  #disconnect(): WebPort | undefined {
    const port = this.#port;
    this.#watch?.abort();
    this.#watch = undefined;
    this.#port = undefined;
    return port;
  }

  /**
   * Ends the session of the page. Resolves when the worker has done so, or has ended; before that it
   * still answers calls, or leaves them to the next worker.
   */
  readonly #leave: Leave = async (port) => {
    const instance = this.#instance ?? "";
    const watch = new AbortController();
    if (port === undefined) return;
    await new Promise<void>((resolve) => {
      const end = (): void => {
        watch.abort();
        listen(port, undefined);
        resolve();
      };
      hear(port, (data) => {
        if (data.kind === "closed" || data.instance !== instance) end();
        else if (data.kind === "outcome") this.#settle(data.id, data.outcome);
        else if (data.kind === "undone") this.#keep(data.id);
        else if (data.kind === "part") this.#options.onMessage(data);
      });
      whenEnded(instance, watch, end);
      port.postMessage({ kind: "close" } satisfies PageMessage);
    });
  };

  #rejectAll(error: Error, isMeant: (waiting: Waiting) => boolean = () => true): void {
    for (const [id, waiting] of this.#waiting) {
      if (!isMeant(waiting)) continue;
      this.#waiting.delete(id);
      waiting.reject(error);
    }
  }

  #end(error: Error): void {
    if (this.#isClosed) return;
    void this.close();
    this.#options.onEnd(error);
  }
}

/** The worker posts several messages at once where it can. */
function hear(port: WebPort, listener: (message: WorkerMessage) => void): void {
  listen(port, (post: WorkerPost) => {
    for (const message of messagesIn(post)) listener(message);
  });
}

function messagesIn(post: WorkerPost): readonly WorkerMessage[] {
  return Array.isArray(post) ? post : [post];
}

export type Opened = Extract<WorkerMessage, { kind: "opened" }>;

type Greeting =
  | Extract<WorkerMessage, { kind: "opened" | "moved" | "refused" }>
  | { readonly kind: "ended" }
  /** The browser hid the page meanwhile, so the page has another lock now. */
  | { readonly kind: "hidden" }
  | undefined;

/** Calls `onEnd` when the worker has ended, unless `watch` is aborted before. */
function whenEnded(instance: string, watch: AbortController, onEnd: () => void): void {
  const { signal } = watch;
  web.navigator.locks
    .request(workerLock(instance), { signal, mode: "shared" }, () => {
      if (!signal.aborted) onEnd();
    })
    .catch(() => {});
}

/** Ends the session with the worker that was in use, if there was one. */
type Leave = (port: WebPort | undefined) => Promise<void>;

/** The worker has ended: nothing is heard of it any more. */
async function forget(port: WebPort | undefined): Promise<void> {
  if (port !== undefined) listen(port, undefined);
}

function silent(): PeerError {
  return new PeerError("store.in_use", "the worker of this peer does not answer");
}

function closed(): PeerError {
  return new PeerError("store.closed", "the peer is closed");
}

/** The error of a call whose worker ended. */
function lost(): PeerError {
  const message = "the worker of this peer ended before it answered; the write may be done or not";
  return new PeerError("store.write_failed", message, { cause: LOST });
}

const LOST = "the worker ended";

/** Whether a call ended because its worker did. */
export function isLost(error: unknown): boolean {
  return error instanceof PeerError && error.cause === LOST;
}
