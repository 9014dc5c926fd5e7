/**
 * Web host: what a peer asks of a browser, in a page or in a worker. It uses only what both have.
 *
 * Asynchronous code has no context in a browser: a transaction that is begun inside another one is
 * refused until the outer one first waits, and meets its time limit after that.
 */

import type { AsyncContext, PeerHost } from "../host/peer-host.ts";
import { LateAttachments } from "./late-attachments.ts";
import type { LazyParts } from "./lazy-code.ts";
import { dialNative, type NativeSocket } from "./native-socket.ts";
import { sha256 } from "./sha256.ts";
import type { Device } from "./user-agent.ts";

/** Globals of a browser that Node 20 does not have. */
export interface WebGlobals {
  readonly WebSocket: new (url: string) => NativeSocket;
}

export function webHost(
  { patterns, explainer, attachments }: LazyParts,
  { os, deviceName }: Device,
  { WebSocket }: WebGlobals = globalThis,
): PeerHost {
  const host: PeerHost = {
    platform: {
      now: () => Date.now(),
      elapsed: () => performance.now(),
      pause,
      random: (size) => crypto.getRandomValues(new Uint8Array(size)),
      sha256,
      pattern: (source, flags) => patterns.get().compile(source, flags),
      explainer: () => explainer.loaded,
    },
    os,
    sdk: "bigpeer-browser",
    deviceName,
    loadCode: (statement) => {
      const waits = [patterns.loadFor(statement), explainer.loadFor(statement)];
      return waits.every((wait) => wait === undefined) ? undefined : afterAll(waits);
    },
    dial: (url, handlers) => dialNative(new WebSocket(url), url, handlers),
    // A browser does not tell a script why: the server may be back in a moment.
    faultOf: ({ message }) => ({ reason: message, isLasting: false }),
    after: (ms, work) => {
      const timer = setTimeout(work, ms);
      return () => clearTimeout(timer);
    },
    // oxlint-disable-next-line no-console -- a browser shows warnings nowhere else.
    warn: (warning) => console.warn(warning),
    newContext: <T>() => new SynchronousContext<T>(),
    lateTransactionHint:
      "if it awaits another transaction, use execute of the open transaction instead",
    openAttachments: (parts) => new LateAttachments(parts, host, attachments),
    outside: (work) => work,
  };
  return host;
}

/** Known until the code first waits. */
class SynchronousContext<T> implements AsyncContext<T> {
  #value: T | undefined;

  run<R>(value: T, work: () => R): R {
    const before = this.#value;
    this.#value = value;
    try {
      return work();
    } finally {
      this.#value = before;
    }
  }

  getStore(): T | undefined {
    return this.#value;
  }
}

async function afterAll(waits: readonly (Promise<void> | undefined)[]): Promise<void> {
  for (const wait of waits) await wait;
}

/** The ports of a MessageChannel, as a browser has them. */
interface Ports {
  readonly port1: {
    addEventListener(name: "message", listener: () => void): void;
    start(): void;
  };
  readonly port2: { postMessage(message: undefined): void };
}

let ports: Ports | undefined;
const waiting: (() => void)[] = [];

/** By a message to itself: a timer waits for at least 4 ms. */
export function pause(): Promise<void> {
  if (ports === undefined) {
    ports = new MessageChannel() as unknown as Ports;
    ports.port1.addEventListener("message", () => waiting.shift()?.());
    ports.port1.start();
  }
  const { port2 } = ports;
  return new Promise((resolve) => {
    waiting.push(resolve);
    port2.postMessage(undefined);
  });
}
