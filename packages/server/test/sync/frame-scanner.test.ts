/** The frame scanner: the same counts, wherever the stream is cut. */

import { expect, test } from "vitest";
import { FrameScanner } from "../../src/sync/frame-scanner.ts";

/** Head and content of a frame of a client. */
function frame(first: number, size: number): number[] {
  const content = Array<number>(4 + size).fill(0);
  if (size < 126) return [first, 0x80 | size, ...content];
  if (size < 65_536) return [first, 0x80 | 126, size >> 8, size & 0xff, ...content];
  return [
    first,
    0x80 | 127,
    0,
    0,
    0,
    0,
    0,
    size >> 16,
    (size >> 8) & 0xff,
    size & 0xff,
    ...content,
  ];
}

const STREAM = Uint8Array.from([
  ...frame(0x82, 0),
  ...frame(0x02, 125),
  ...frame(0x89, 100),
  ...frame(0x00, 126),
  ...frame(0x80, 70_000),
  ...frame(0x8a, 0),
  ...frame(0x82, 65_535),
  ...frame(0x02, 1),
  ...frame(0x00, 0),
]);

test("data frames and messages are counted wherever the stream is split", () => {
  for (const size of [1, 2, 3, 7, 1_000, 66_000, STREAM.length]) {
    const scanner = new FrameScanner();
    let frames = 0;
    let messages = 0;
    let isOpen = false;
    for (let at = 0; at < STREAM.length; at += size) {
      const scanned = scanner.read(STREAM.subarray(at, at + size));
      frames += scanned.frames;
      messages += scanned.messages;
      isOpen = scanned.isOpen;
    }
    expect([size, frames, messages, isOpen]).toEqual([size, 7, 3, true]);
  }
});

test("frames of a complete message are no longer open", () => {
  const scanner = new FrameScanner();
  const first = scanner.read(STREAM);
  const open = {
    frames: 7,
    controls: 2,
    openFrames: 2,
    messages: 3,
    isCleared: true,
    isOpen: true,
  };
  expect(first).toEqual(open);
  const ping = scanner.read(Uint8Array.from(frame(0x89, 5)));
  const inside = {
    frames: 0,
    controls: 1,
    openFrames: 0,
    messages: 0,
    isCleared: false,
    isOpen: true,
  };
  expect(ping).toEqual(inside);
  const end = scanner.read(Uint8Array.from(frame(0x80, 5)));
  expect(end).toEqual({
    ...open,
    frames: 1,
    controls: 0,
    openFrames: 0,
    messages: 1,
    isOpen: false,
  });
});
