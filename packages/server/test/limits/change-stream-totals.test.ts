/**
 * The limit of open change streams, which the data API and the console share.
 */

import { FULL_PERMISSIONS } from "@bigpeer/engine/query";
import { expect, test } from "vitest";
import { createCredential } from "../../src/auth/credential.ts";
import { CHANGES_PATH, ChangeStreams, type FeedApp } from "../../src/data-api/change-streams.ts";
import type { Answer, LiveContent } from "../../src/http/answer.ts";
import { ChangeStreamTotals } from "../../src/limits/change-stream-totals.ts";
import { handMadeRequest } from "../support/hand-made-request.ts";

const READER = { close: () => undefined };
const APP = { id: "app", changes: { open: () => READER } } as unknown as FeedApp;
const PLACE = { appId: "app", version: undefined, parameters: {}, query: "" };

/** The endpoint of a listener whose callers all have one credential. */
function listener(totals: ChangeStreamTotals, credentialId: string, refused: string[]) {
  const credential = createCredential(credentialId, FULL_PERMISSIONS);
  const authenticate = async () => {
    return { use: { app: APP, release: () => undefined }, app: APP, credential } as never;
  };
  const { endpoints } = new ChangeStreams({
    gate: { authenticate, authenticateAgain: authenticate, isServing: true },
    transactionWaitMs: 0,
    elapsed: () => 0,
    totals,
    onRefused: (bound) => refused.push(bound),
    onFault: () => undefined,
  });
  const endpoint = endpoints.find(({ path }) => path === CHANGES_PATH);
  return async (): Promise<LiveContent> => {
    const answer = (await endpoint?.answer(handMadeRequest({ method: "GET" }), PLACE)) as Answer;
    return answer.body as LiveContent;
  };
}

test("streams of two listeners are within one limit, and each credential within its own", async () => {
  // One app may have all but the last eighth.
  const totals = new ChangeStreamTotals(8, 5);
  const refused: string[] = [];
  const openData = listener(totals, "key", refused);
  const openConsole = listener(totals, "console", refused);
  const streams: LiveContent[] = [];
  for (let i = 1; i <= 5; i++) streams.push(await openConsole());
  await expect(openConsole()).rejects.toMatchObject({ status: 503 });
  for (let i = 1; i <= 2; i++) streams.push(await openData());
  expect(totals.count).toBe(7);
  await expect(openData()).rejects.toMatchObject({ status: 503 });
  expect(refused).toEqual(["change_streams", "change_streams"]);
  streams[0]?.drop();
  streams[0]?.drop();
  expect(totals.count).toBe(6);
  streams.push(await openData());
  await expect(openConsole()).rejects.toMatchObject({ status: 503 });
  for (const stream of streams) stream.drop();
  expect(totals.count).toBe(0);
});
