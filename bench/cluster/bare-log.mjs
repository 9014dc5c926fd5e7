/**
 * The log of a cluster without Big Peer: the messages of an app are appended once more, to another
 * subject of the same stream, one after the other and each behind the one before.
 */
import { decodeCbor } from "@bigpeer/protocol";
import { jetstream, jetstreamManager } from "@nats-io/jetstream";
import { connect } from "@nats-io/transport-node";

const MESSAGES_MAX = 300;

/** `round(seconds)` resolves with the rate of transactions and the p50 of an append. */
export async function bareLog(nats, appId) {
  const connection = await connect({ servers: [...nats.urls] });
  const js = jetstream(connection);
  const manager = await jetstreamManager(connection);
  const stream = await streamOf(manager, appId);
  const subject = `${stream.subject.slice(0, -appId.length)}bench`;
  let last = 0;
  return {
    async round(seconds) {
      const messages = await lastMessages(manager, stream);
      const times = [];
      let transactions = 0;
      const start = performance.now();
      for (let i = 0; performance.now() - start < seconds * 1000; i++) {
        const { bytes, count } = messages[i % messages.length];
        const sentAt = performance.now();
        const msgID = `bench:${sentAt}:${i}`;
        const expect = { lastSubjectSequence: last };
        try {
          ({ seq: last } = await js.publish(subject, bytes, { msgID, expect }));
        } catch {
          // The answer was late and the client has repeated it. The time of both counts.
          last = await lastSequence(manager, stream.name, subject);
        }
        times.push(performance.now() - sentAt);
        transactions += count;
      }
      const elapsedMs = performance.now() - start;
      const sorted = times.toSorted((a, b) => a - b);
      const p50 = sorted[Math.floor(sorted.length / 2)];
      return { rate: (transactions * 1000) / elapsedMs, p50, cpu: [] };
    },
    close: () => connection.close(),
  };
}

/** The stream that has the log of the app. */
async function streamOf(manager, appId) {
  for await (const { config } of manager.streams.list()) {
    const subject = config.subjects[0].replace("*", appId);
    const message = await manager.streams.getMessage(config.name, { last_by_subj: subject });
    if (message !== null) return { name: config.name, subject };
  }
  throw new Error("expected a stream with the log of the app");
}

async function lastSequence(manager, name, subject) {
  const message = await manager.streams.getMessage(name, { last_by_subj: subject });
  return message?.seq ?? 0;
}

/** The last entries of the app that have transactions, with their number. */
async function lastMessages(manager, { name, subject }) {
  const { state } = await manager.streams.info(name);
  const messages = [];
  for (let seq = Math.max(1, state.last_seq - MESSAGES_MAX); ; seq++) {
    const message = await manager.streams.getMessage(name, { seq, next_by_subj: subject });
    if (message === null) break;
    seq = message.seq;
    const count = transactionsIn(message.data);
    if (count > 0) messages.push({ bytes: message.data, count });
  }
  return messages;
}

/** The encoded transactions are byte strings of an array: see log-entry.ts. */
function transactionsIn(bytes) {
  return decodeCbor(bytes).transactions?.length ?? 0;
}
