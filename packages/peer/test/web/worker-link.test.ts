/**
 * The link of a page to its worker: a worker that is ending says nothing, and the page reaches the
 * next one. Real browsers show the rest (tabs.long.test.ts).
 */

import { MessageChannel, type MessagePort } from "node:worker_threads";
import { PeerError } from "@bigpeer/protocol";
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from "vitest";
import {
  PAGE_PROTOCOL,
  type PageMessage,
  type PageOptions,
  type Question,
  type WorkerContent,
  type WorkerMessage,
} from "../../src/web/messages.ts";
import {
  WorkerLink,
  type WorkerLinkOptions,
  type WorkerPort,
} from "../../src/web/page/worker-link.ts";
import type { WebPort } from "../../src/web/web-globals.ts";

type ShownListener = (event: { readonly persisted: boolean }) => void;

/** Of the page: `pagehide` and `pageshow`. */
const listeners = new Map<string, ShownListener>();

/** The locks of the page, and whether it has them still. */
const pageLocks = new Map<string, boolean>();

const OPTIONS = { appId: "app", name: "default" } as PageOptions;

beforeEach(() => {
  // Locks of pages are had at once, and those of workers are never released.
  pageLocks.clear();
  const request = (name: string, _: object, held: () => Promise<void>): Promise<void> => {
    if (!name.startsWith("bigpeer-page:")) return new Promise(() => {});
    pageLocks.set(name, true);
    return held().then(() => void pageLocks.set(name, false));
  };
  vi.stubGlobal("navigator", { locks: { request } });
  vi.stubGlobal("addEventListener", (event: string, listener: ShownListener) => {
    listeners.set(event, listener);
  });
  vi.stubGlobal("removeEventListener", () => {});
});

afterEach(() => vi.unstubAllGlobals());

const OPENED: WorkerContent = { kind: "opened", opening: "1", state: {} as never };

const MOVED: WorkerContent = { kind: "moved", url: "/old/worker.js", protocol: PAGE_PROTOCOL };

/** A port whose other end answers an `open` with `answer`; without one it says nothing. */
function workerPort(answer: WorkerContent | undefined, helloMsMax: number): WorkerPort {
  const { port1, port2 } = new MessageChannel();
  onTestFinished(() => port1.close());
  const send = (content: WorkerContent): void => port2.postMessage({ instance: "one", ...content });
  if (answer !== undefined) {
    port2.on("message", (message: PageMessage) => {
      if (message.kind === "open") send(answer);
      if (message.kind === "close") send({ kind: "closed" });
    });
    send({ kind: "hello" });
  }
  const failed = new Promise<never>(() => {});
  return { port: port1 as unknown as WebPort, failed, helloMsMax };
}

function linkTo(
  connect: (url: string | undefined) => Promise<WorkerPort>,
  handlers: Partial<Pick<WorkerLinkOptions, "onQuestion" | "onRestart">> = {},
): WorkerLink {
  const unexpected = (): never => expect.unreachable("nothing else is heard");
  return new WorkerLink({
    options: OPTIONS,
    connect,
    onMessage: unexpected,
    onQuestion: unexpected,
    onRestart: unexpected,
    onEnd: unexpected,
    ...handlers,
  });
}

test("a page that was connected to a worker which is ending connects again", async () => {
  let connections = 0;
  const link = linkTo(async () => workerPort(++connections === 3 ? OPENED : undefined, 20));
  expect(await link.open()).toMatchObject({ kind: "opened", instance: "one" });
  expect(connections).toBe(3);
  await link.close();
});

test("a worker that says nothing for long is an error", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
  onTestFinished(() => void vi.useRealTimers());
  const link = linkTo(async () => workerPort(undefined, Number.POSITIVE_INFINITY));
  const failure = link.open().catch((error: unknown) => error);
  await vi.advanceTimersByTimeAsync(30_000);
  expect(await failure).toMatchObject({ code: "store.in_use" });
});

test("a page that was sent to the worker of a build that is gone goes back to its own", async () => {
  const urls: (string | undefined)[] = [];
  const link = linkTo(async (url) => {
    urls.push(url);
    if (url === undefined) return workerPort(urls.length === 1 ? MOVED : OPENED, 1000);
    const failed = Promise.reject(new PeerError("config.invalid", "the script is gone"));
    return { ...workerPort(undefined, 1000), failed };
  });
  expect(await link.open()).toMatchObject({ kind: "opened" });
  expect(urls).toEqual([undefined, "/old/worker.js", undefined]);
  await link.close();
});

test("a page whose own worker cannot be loaded is refused", async () => {
  const failed = Promise.reject(new PeerError("config.invalid", "there is no such script"));
  const link = linkTo(async () => ({ ...workerPort(undefined, 1000), failed }));
  await expect(link.open()).rejects.toMatchObject({ code: "config.invalid" });
});

test("an answer to a question of a worker that has ended does not reach the next one", async () => {
  const answers: PageMessage[] = [];
  const ports: MessagePort[] = [];
  const asked: (() => void)[] = [];
  const run = (question: Question): Promise<unknown> =>
    new Promise((resolve) => asked.push(() => resolve(question)));
  const link = linkTo(
    async () => {
      const { port1, port2 } = new MessageChannel();
      onTestFinished(() => port1.close());
      const instance = `worker ${ports.push(port2)}`;
      const send = (content: WorkerContent): void => port2.postMessage({ instance, ...content });
      port2.on("message", (message: PageMessage) => {
        if (message.kind === "open") send(OPENED);
        if (message.kind === "close") send({ kind: "closed" });
        if (message.kind === "answer") answers.push(message);
      });
      send({ kind: "hello" });
      const failed = new Promise<never>(() => {});
      return { port: port1 as unknown as WebPort, failed, helloMsMax: 1000 };
    },
    { onQuestion: run, onRestart: () => {} },
  );
  await link.open();
  const questionOf = (worker: number): Question => ({ kind: "transaction", transaction: worker });
  const ask = (worker: number): void => {
    const content: WorkerContent = { kind: "question", id: 1, question: questionOf(worker) };
    ports[worker - 1]?.postMessage({ instance: `worker ${worker}`, ...content });
  };
  ask(1);
  await vi.waitFor(() => expect(asked).toHaveLength(1));
  ports[0]?.postMessage({ instance: "worker 1", kind: "restart" } satisfies WorkerMessage);
  await vi.waitFor(() => expect(ports).toHaveLength(2));
  await link.connected();
  ask(2);
  await vi.waitFor(() => expect(asked).toHaveLength(2));
  for (const answer of asked) answer();
  await vi.waitFor(() => expect(answers).not.toHaveLength(0));
  const outcome = { kind: "returned", value: questionOf(2) };
  expect(answers).toEqual([{ kind: "answer", id: 1, outcome }]);
  await link.close();
});

test("while the browser keeps the page behind another one, it waits for its worker", async () => {
  const link = linkTo(async () => workerPort(OPENED, 1000), { onRestart: () => {} });
  await link.open();
  listeners.get("pagehide")?.({ persisted: true });
  let isConnected = false;
  const connected = link.connected().then(() => {
    isConnected = true;
  });
  await new Promise((resolve) => setImmediate(resolve));
  expect(isConnected).toBe(false);
  listeners.get("pageshow")?.({ persisted: true });
  await connected;
  await link.close();
});

test("a page that is closed while the browser keeps it waits no longer", async () => {
  const link = linkTo(async () => workerPort(OPENED, 1000));
  await link.open();
  listeners.get("pagehide")?.({ persisted: true });
  const connected = link.connected().catch((error: unknown) => error);
  await link.close();
  expect(await connected).toMatchObject({ code: "store.closed" });
});

/** A worker that answers an `open` when the test says so. It keeps what it received. */
class SlowWorker {
  readonly received: PageMessage[] = [];
  readonly send: (content: WorkerContent) => void;
  readonly #connected: WorkerPort;

  constructor() {
    const { port1, port2 } = new MessageChannel();
    onTestFinished(() => port1.close());
    this.send = (content) => port2.postMessage({ instance: "one", ...content });
    port2.on("message", (message: PageMessage) => {
      this.received.push(message);
      if (message.kind === "close") this.send({ kind: "closed" });
    });
    this.send({ kind: "hello" });
    const failed = new Promise<never>(() => {});
    this.#connected = { port: port1 as unknown as WebPort, failed, helloMsMax: 30_000 };
  }

  connect(): Promise<WorkerPort> {
    return Promise.resolve(this.#connected);
  }

  /** Resolves with the lock that the page names, when it has asked for the peer. */
  asked(): Promise<string> {
    return vi.waitFor(() => {
      const open = this.received.find((each) => each.kind === "open");
      if (open === undefined) throw new Error("the page has not asked");
      return open.pageId;
    });
  }
}

/** Hides the page while `first` opens the peer, and shows it again: then `second` has to do it. */
async function hideWhileConnecting(first: SlowWorker, second: SlowWorker): Promise<void> {
  const before = await first.asked();
  listeners.get("pagehide")?.({ persisted: true });
  await vi.waitFor(() => expect(first.received.at(-1)).toEqual({ kind: "leave" }));
  await vi.waitFor(() => expect(pageLocks.get(before)).toBe(false));
  expect(second.received).toEqual([]);
  listeners.get("pageshow")?.({ persisted: true });
  const after = await second.asked();
  expect([pageLocks.get(after), [...pageLocks.values()].filter(Boolean).length]).toEqual([true, 1]);
  // What the first worker says now is too late.
  first.send({ kind: "refused", error: { name: "Error", message: "late" } });
  second.send(OPENED);
}

test("a page that is hidden while it opens its peer opens it when it is shown again", async () => {
  const workers = [new SlowWorker(), new SlowWorker()] as const;
  let count = 0;
  const link = linkTo(() => (count++ === 0 ? workers[0] : workers[1]).connect());
  const opening = link.open();
  await hideWhileConnecting(...workers);
  expect(await opening).toMatchObject({ kind: "opened" });
  expect(count).toBe(2);
  await link.close();
  expect([...pageLocks.values()]).not.toContain(true);
});

test("a page that is hidden while it connects again connects when it is shown again", async () => {
  const workers = [new SlowWorker(), new SlowWorker(), new SlowWorker()] as const;
  let count = 0;
  const link = linkTo(() => (workers[count++] ?? workers[2]).connect(), { onRestart: () => {} });
  const opening = link.open();
  await workers[0].asked();
  workers[0].send(OPENED);
  await opening;
  workers[0].send({ kind: "restart" });
  await hideWhileConnecting(workers[1], workers[2]);
  await link.connected();
  expect(count).toBe(3);
  await link.close();
  expect([...pageLocks.values()]).not.toContain(true);
});

test("a page that is closed while it is hidden and connects keeps no lock", async () => {
  const workers = [new SlowWorker(), new SlowWorker()] as const;
  let count = 0;
  const link = linkTo(() => (workers[count++] ?? workers[1]).connect(), { onRestart: () => {} });
  const opening = link.open();
  await workers[0].asked();
  workers[0].send(OPENED);
  await opening;
  workers[0].send({ kind: "restart" });
  await workers[1].asked();
  listeners.get("pagehide")?.({ persisted: true });
  await link.close();
  await vi.waitFor(() => expect([...pageLocks.values()]).not.toContain(true));
  expect(count).toBe(2);
});
