/** What a live answer does with a client that takes nothing, and with one that has nothing to take. */

import { expect, test, vi } from "vitest";
import type { LiveContent } from "../../src/http/answer.ts";
import { type LiveExchange, sendLive } from "../../src/http/live-answer.ts";

/** Runs the time-out of an answer of which so many bytes were not taken. */
async function timeOutWith(writableLength: number): Promise<{ isCut: boolean }> {
  let onIdle = (): void => {};
  const destroy = vi.fn<() => void>();
  const response = {
    writableLength,
    setTimeout: (_: number, listener: () => void) => {
      onIdle = listener;
    },
    flushHeaders: () => {},
    end: () => {},
    destroy,
  };
  const exchange = { response, isOver: false, onHangUp: () => () => {} } as unknown;
  const content: LiveContent = {
    kind: "live",
    run: async () => onIdle(),
    drop: () => {},
  };
  const onCut = vi.fn<() => void>();
  await sendLive(content, exchange as LiveExchange, onCut);
  expect(onCut.mock.calls.length).toBe(destroy.mock.calls.length);
  return { isCut: destroy.mock.calls.length > 0 };
}

test("[H47] a client that takes nothing is disconnected", async () => {
  expect(await timeOutWith(1)).toEqual({ isCut: true });
});

test("[C20] a client that has taken everything may wait for more, however long", async () => {
  expect(await timeOutWith(0)).toEqual({ isCut: false });
});
