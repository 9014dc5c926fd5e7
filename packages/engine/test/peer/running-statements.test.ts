/**
 * Statements that a server lets a peer run: what the host is asked, and what of its answers the
 * server gets to read.
 */

import {
  type AnswerMessage,
  encodeMessage,
  PeerError,
  type RunMessage,
  type RunWarning,
  SYNC_MESSAGE_BYTES_MAX,
  type Value,
} from "@bigpeer/protocol";
import { expect, test } from "vitest";
import { RunningStatements, type RunReply } from "../../src/peer/running-statements.ts";
import { connect, peerRig } from "../support/peer-rig.ts";
import { RUN } from "../support/peer-session-script.ts";
import { until } from "../support/scripted-server.ts";

const END = { elapsedMs: 3, warnings: [], totalWarnings: 0 } as const;

/** A host that answers when the test says so. */
class Host {
  readonly asked: { readonly run: RunMessage; readonly reply: RunReply }[] = [];
  readonly cancelled: number[] = [];

  readonly run = (run: RunMessage, reply: RunReply): { cancel(): void } => {
    this.asked.push({ run, reply });
    return { cancel: () => this.cancelled.push(run.id) };
  };

  reply(id: number, items: readonly Value[], isLast = true): void {
    const found = this.asked.find(({ run }) => run.id === id);
    found?.reply(isLast ? { items, end: END } : { items });
  }
}

test("[S44] a peer whose app allows no remote statements refuses every statement", async () => {
  const peer = await peerRig();
  const connection = await connect(peer);
  connection.say(RUN);
  const message = "this peer runs no statements of others";
  const error = { code: "remote.refused", message };
  expect(connection.of("answer")).toEqual([
    { t: "answer", id: 1, items: [], end: { ...END, elapsedMs: 0, error } },
  ]);
  await peer.sync.close();
});

test("[S44] the app gets the statement with its limits, and its rows are sent as it returns them", async () => {
  const host = new Host();
  const peer = await peerRig(host.run);
  const connection = await connect(peer);
  connection.say({ ...RUN, args: { done: true } });
  expect(host.asked.map(({ run }) => run)).toEqual([{ ...RUN, args: { done: true } }]);
  host.reply(1, [{ n: 1 }], false);
  host.reply(1, [{ n: 2 }]);
  host.reply(1, [{ n: 3 }]);
  expect(connection.of("answer")).toEqual([
    { t: "answer", id: 1, items: [{ n: 1 }] },
    { t: "answer", id: 1, items: [{ n: 2 }], end: END },
  ]);
  expect(host.cancelled).toEqual([]);
  await peer.sync.close();
});

test("[S44] a statement runs on the store of the peer, and a server can read the answer", async () => {
  const peer = await peerRig((run, reply) => {
    const { statement, args } = run;
    void peer.runner
      .execute({ statement, args })
      .then(({ items }) => reply({ items, end: { ...END, elapsedMs: 1.4 } }));
    return { cancel: () => undefined };
  });
  await peer.runner.execute({ statement: "INSERT INTO tasks VALUES ({'_id': 'x', 'n': 1})" });
  const connection = await connect(peer);
  connection.say(RUN);
  await until(() => connection.of("answer").length === 1);
  expect(connection.of("answer")).toEqual([
    { t: "answer", id: 1, items: [{ _id: "x", n: 1 }], end: { ...END, elapsedMs: 1 } },
  ]);
  await peer.sync.close();
});

test("[S44] 16 statements run at a time, and the app gets no more", async () => {
  const host = new Host();
  const peer = await peerRig(host.run);
  const connection = await connect(peer);
  for (let id = 1; id <= 20; id++) connection.say({ ...RUN, id });
  expect(host.asked).toHaveLength(16);
  expect(connection.of("answer").map(({ id, end }) => [id, end?.error?.code])).toEqual([
    [17, "query.busy"],
    [18, "query.busy"],
    [19, "query.busy"],
    [20, "query.busy"],
  ]);
  host.reply(5, []);
  connection.say({ ...RUN, id: 21 });
  expect(host.asked).toHaveLength(17);
  await peer.sync.close();
});

test("[S46] a cancelled run is cancelled at the app, once, and its later replies are dropped", async () => {
  const host = new Host();
  const peer = await peerRig(host.run);
  const connection = await connect(peer);
  connection.say(RUN, { t: "cancel", id: 1 }, { t: "cancel", id: 1 });
  host.reply(1, [1]);
  expect(host.cancelled).toEqual([1]);
  expect(connection.of("answer")).toEqual([]);
  await peer.sync.close();
  expect(host.cancelled).toEqual([1]);
});

test("[S46] the end of the connection cancels runs, and a late reply is not sent on the next one", async () => {
  const host = new Host();
  const peer = await peerRig(host.run);
  const connection = await connect(peer);
  connection.say(RUN, { ...RUN, id: 2 });
  peer.server.pass(5000);
  connection.cut();
  expect(host.cancelled).toEqual([1, 2]);
  const next = await connect(peer);
  next.say(RUN);
  host.reply(1, ["late"]);
  expect(next.of("answer")).toEqual([]);
  host.asked.at(-1)?.reply({ items: ["new"], end: END });
  expect(next.of("answer").map(({ items }) => items)).toEqual([["new"]]);
  next.say({ ...RUN, id: 2 });
  await peer.sync.close();
  expect(host.cancelled).toEqual([1, 2, 2]);
});

test("[S45] an app that throws answers with its error", async () => {
  const faults = [new PeerError("query.syntax", "expected FROM"), new Error("no such place")];
  const peer = await peerRig(() => {
    throw faults.shift();
  });
  const connection = await connect(peer);
  connection.say(RUN, { ...RUN, id: 2 });
  expect(connection.of("answer").map(({ end }) => end?.error)).toEqual([
    { code: "query.syntax", message: "expected FROM" },
    { code: "query.store", message: "no such place" },
  ]);
  await peer.sync.close();
});

/** What becomes of one reply; all of it before the host has returned. */
function answersTo(items: readonly Value[], bytesMax: number): AnswerMessage[] {
  const answers: AnswerMessage[] = [];
  const runs = new RunningStatements((_, reply) => {
    reply({ items, end: END });
    return { cancel: () => undefined };
  });
  runs.start(RUN, bytesMax, (message) => answers.push(message));
  return answers;
}

test("[S1] an answer too large for a message is sent as several, in order, the end with the last", () => {
  const items = Array.from({ length: 100 }, (_, n) => ({ n, text: "x".repeat(n * 10) }));
  const answers = answersTo(items, 2000);
  expect(answers.flatMap((answer) => answer.items)).toEqual(items);
  expect(answers.map(({ end }) => end).filter((end) => end !== undefined)).toEqual([END]);
  expect(answers.at(-1)?.end).toEqual(END);
  for (const answer of answers) expect(encodeMessage(answer).length).toBeLessThanOrEqual(2000);
  expect(answers.length).toBeLessThan(100);
});

test("[S1] rows of only empty objects are split so that a server can read them", async () => {
  const host = new Host();
  const peer = await peerRig(host.run);
  const connection = await connect(peer);
  connection.say(RUN);
  const items = Array.from({ length: 200_000 }, () => ({}));
  host.reply(1, items);
  expect(connection.of("answer").length).toBeGreaterThan(1);
  expect(connection.of("answer").flatMap((answer) => answer.items)).toHaveLength(200_000);
  await peer.sync.close();
});

test("[S45] a row too large for a message is query.too_large, and the app is cancelled", () => {
  const large = "x".repeat(SYNC_MESSAGE_BYTES_MAX);
  const cancelled: string[] = [];
  const answers: AnswerMessage[] = [];
  const replies: RunReply[] = [];
  const runs = new RunningStatements((_, reply) => {
    replies.push(reply);
    return { cancel: () => cancelled.push("later") };
  });
  runs.start(RUN, SYNC_MESSAGE_BYTES_MAX, (message) => answers.push(message));
  replies[0]?.({ items: [1, large] });
  replies[0]?.({ items: [2], end: END });
  expect(answers.map(({ items, end }) => [items, end?.error?.code])).toEqual([
    [[], "query.too_large"],
  ]);
  expect(cancelled).toEqual(["later"]);
  // Before the host has returned what to cancel.
  const early = new RunningStatements((_, reply) => {
    reply({ items: [large] });
    return { cancel: () => cancelled.push("early") };
  });
  early.start(RUN, SYNC_MESSAGE_BYTES_MAX, (message) => answers.push(message));
  expect(answers.at(-1)?.end?.error?.code).toBe("query.too_large");
  expect(cancelled).toEqual(["later", "early"]);
});

test("[S45] an end is sent as a server accepts it: ten warnings, whole milliseconds", async () => {
  const warnings: RunWarning[] = Array.from({ length: 12 }, (_, n) => ({ description: `w${n}` }));
  const peer = await peerRig((_, reply) => {
    reply({ items: [], end: { elapsedMs: 2.6, warnings, totalWarnings: 12 } });
    return { cancel: () => undefined };
  });
  const connection = await connect(peer);
  connection.say(RUN);
  expect(connection.of("answer").map(({ end }) => end)).toEqual([
    { elapsedMs: 3, warnings: warnings.slice(0, 10), totalWarnings: 12 },
  ]);
  await peer.sync.close();
});
