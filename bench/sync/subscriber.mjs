/**
 * Process that writes over HTTP and subscribes over a WebSocket.
 */
import { answer } from "./answers.mjs";
import { post } from "./post.mjs";
import { RawClient } from "./raw-client.mjs";
import { SPEECHES } from "./speech.mjs";
import { fieldsOfTurn, idOfTurn, markOf, TARGETS } from "./turn.mjs";

/** Resolves when subscribed. `wait(turn)` resolves with the arrival time of that write. */
async function follow({ port, token, path }) {
  const speech = await SPEECHES["big peer"]({ token, follows: "same" });
  let client;
  let wanted;
  let follows = false;
  await new Promise((resolve, reject) => {
    const onMessage = (bytes) => {
      if (wanted !== undefined && bytes.includes(wanted.mark)) {
        wanted.resolve(performance.now());
        wanted = undefined;
      } else if (speech.hear(client, 0, bytes) && !follows) {
        follows = true;
        resolve();
      }
    };
    RawClient.open({ port, path, onMessage, onClose: (reason) => reject(new Error(reason)) }).then(
      (opened) => {
        client = opened;
        speech.begin(client, 0);
      },
      reject,
    );
  });
  return {
    wait: (turn) =>
      new Promise((resolve) => {
        wanted = { mark: Buffer.from(markOf(turn)), resolve };
      }),
    close: () => client.close(),
  };
}

answer({
  async measure({ port, token, path, warm, writes }) {
    const subscriber = await follow({ port, token, path });
    const arrivals = [];
    const answers = [];
    for (let i = 0; i < warm + writes; i++) {
      const turn = TARGETS + i;
      const commands = [
        { method: "upsert", collection: "cars", id: idOfTurn(turn), value: fieldsOfTurn(turn) },
      ];
      const arrival = subscriber.wait(turn);
      const at = performance.now();
      const sent = post({ port, path: "/api/v4/store/write", token, body: { commands } });
      const answered = sent.then(() => performance.now() - at);
      const [arrivedAt, answerMs] = await Promise.all([arrival, answered]);
      if (i < warm) continue;
      arrivals.push(arrivedAt - at);
      answers.push(answerMs);
    }
    subscriber.close();
    return { arrivals, answers };
  },
});
