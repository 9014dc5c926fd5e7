/**
 * The connection of a peer in a browser, over a socket that the test plays.
 */
import type { Channel } from "@bigpeer/engine";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { dialNative, type FrameEvent, type NativeSocket } from "../../src/web/native-socket.ts";

class PlayedSocket implements NativeSocket {
  binaryType = "blob";
  readyState = 0;
  bufferedAmount = 0;
  readonly #listeners = new Map<string, (event: FrameEvent) => void>();
  readonly sent: Uint8Array[] = [];
  readonly closes: (number | undefined)[] = [];

  addEventListener(name: string, listener: (event: FrameEvent) => void): void {
    this.#listeners.set(name, listener);
  }

  emit(name: string, data?: unknown): void {
    this.#listeners.get(name)?.({ data });
  }

  send(bytes: Uint8Array): void {
    this.sent.push(bytes);
  }

  close(code?: number): void {
    this.closes.push(code);
    this.readyState = 2;
  }

  open(): void {
    this.readyState = 1;
    this.emit("open");
  }
}

interface Dialled {
  readonly socket: PlayedSocket;
  readonly handle: { close(): void };
  readonly messages: Uint8Array[];
  readonly ends: string[];
  channel: Channel | undefined;
}

function dial(): Dialled {
  const socket = new PlayedSocket();
  const messages: Uint8Array[] = [];
  const ends: string[] = [];
  const opened = (channel: Channel): void => {
    dialled.channel = channel;
  };
  const message = (bytes: Uint8Array): void => {
    messages.push(bytes);
  };
  const closed = (reason: string): void => {
    ends.push(reason);
  };
  const handle = dialNative(socket, "wss://server/sync", { opened, message, closed });
  const dialled: Dialled = { socket, handle, messages, ends, channel: undefined };
  return dialled;
}

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test("frames go both ways, and the end of the connection is reported once", () => {
  const dialled = dial();
  const { socket, messages, ends } = dialled;
  expect(socket.binaryType).toBe("arraybuffer");
  socket.open();
  dialled.channel?.send(new Uint8Array([1]));
  socket.emit("message", new Uint8Array([2, 3]).buffer);
  socket.bufferedAmount = 7;
  expect(dialled.channel?.queuedBytes).toBe(7);
  expect(socket.sent).toEqual([new Uint8Array([1])]);
  expect(messages).toEqual([new Uint8Array([2, 3])]);
  socket.readyState = 3;
  socket.emit("close");
  socket.emit("close");
  expect(ends).toEqual(["the connection was lost"]);
  dialled.channel?.send(new Uint8Array([4]));
  expect(socket.sent).toHaveLength(1);
});

test("an attempt that fails names the address", () => {
  const { socket, ends } = dial();
  socket.emit("close");
  expect(ends).toEqual(["failed to connect to wss://server/sync"]);
});

test("an attempt without an answer ends after 10 s", () => {
  const { socket, ends } = dial();
  vi.advanceTimersByTime(10_000);
  expect(socket.closes).toEqual([1000]);
  vi.advanceTimersByTime(1000);
  expect(ends).toEqual(["no answer from wss://server/sync within 10 s"]);
});

test("a close that the server does not answer is over after a second", () => {
  const { socket, handle, ends, messages } = dial();
  socket.open();
  handle.close();
  handle.close();
  expect(socket.closes).toEqual([1000]);
  vi.advanceTimersByTime(1000);
  expect(ends).toEqual(["the connection was lost"]);
  socket.emit("message", new Uint8Array([1]).buffer);
  expect(messages).toEqual([]);
});

test("a text frame ends the connection", () => {
  const { socket, ends, messages } = dial();
  socket.open();
  socket.emit("message", "hello");
  socket.emit("message", new Uint8Array([1]).buffer);
  socket.emit("close");
  expect(messages).toEqual([]);
  expect(ends).toEqual(["expected a binary frame, found text"]);
});
