/**
 * Answers of peers that are too large together: who has an error instead, and that the others do not.
 */

import type { PeerReport } from "@bigpeer/engine/sync";
import { stringifyJson, type Value } from "@bigpeer/protocol";
import { expect, test } from "vitest";
import { fittingAnswers, type RemoteAnswer } from "../../src/sync/fitting-answers.ts";

function answerOf(session: number, items: readonly Value[], message?: string): RemoteAnswer {
  const description = { key: `pk-${session}`, deviceName: "d", os: "o", sdk: "s", metadata: {} };
  const report: PeerReport = {
    session,
    description,
    site: "00000000000000aa",
    credential: "k",
    identity: {},
    sinceMs: 0,
    subscriptions: [],
    progress: { sentTxn: 0, lag: 0, uploads: 0 },
    traffic: { framesIn: 0, bytesIn: 0, framesOut: 0, bytesOut: 0, queuedBytes: 0, heardMs: 0 },
  };
  const error = message === undefined ? {} : { error: { code: "x", message } };
  return { session, report, items, elapsedMs: 1, warnings: [], totalWarnings: 0, ...error };
}

test("[R6] rows that are much larger in JSON than on the wire do not break the answers of other peers", async () => {
  // Each of these characters is six in JSON.
  const wide = "\u0001".repeat(10_000);
  const answers = [
    answerOf(1, [wide]),
    answerOf(2, ["small"]),
    answerOf(3, [wide, "more"]),
    answerOf(4, [], "m".repeat(90_000)),
    answerOf(5, ["small", 7]),
  ];
  expect(stringifyJson(wide).length).toBe(60_002);
  const reported = await fittingAnswers(answers, 100_000);
  expect(reported.map(({ session, items }) => [session, items.length])).toEqual([
    [1, 1],
    [2, 1],
    [3, 0],
    [4, 0],
    [5, 2],
  ]);
  const codes = reported.map(({ error }) => error?.code);
  expect(codes).toEqual([undefined, undefined, "query.too_large", "query.too_large", undefined]);
  expect(await fittingAnswers(answers, 1_000_000)).toEqual(answers);
});

test("[R6] the descriptions of peers count towards the size as well", async () => {
  const [one, two] = [answerOf(1, ["x".repeat(100)]), answerOf(2, ["x".repeat(200)])];
  const description = { ...two.report.description, metadata: { text: "m".repeat(5000) } };
  const reported = await fittingAnswers(
    [one, { ...two, report: { ...two.report, description } }],
    6_300,
  );
  expect(reported.map(({ error }) => error?.code)).toEqual([undefined, "query.too_large"]);
});
