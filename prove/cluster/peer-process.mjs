/**
 * A process with small peers that write all the time. Each peer belongs to a team and follows the
 * marks and the total of its team. Each of its writes is one transaction: a mark, and one more in
 * the total. Talks to its parent in messages:
 *
 *   in:   { kind: "begin", appId, token, peers: [{ name, team, url }], pauseMs: [from, to] }
 *         { kind: "settle" }   writes no more
 *         { kind: "digest" }
 *   out:  { kind: "begun" }, { kind: "marks", marks: [{ id, team }] }, { kind: "settled" },
 *         { kind: "digest", peers: [{ name, team, total, marks, pending, refused, state }] }
 */
import { setTimeout } from "node:timers/promises";
import { openPeer } from "@bigpeer/peer";

const REPORT_MS = 500;

const peers = [];
const work = { isWriting: true };
let written = [];
let writing = [];

process.on("message", (message) => {
  answer(message).catch((error) => process.send({ kind: "fault", fault: error.stack }));
});
process.on("disconnect", () => process.exit());

async function answer(message) {
  if (message.kind === "begin") await begin(message);
  if (message.kind === "settle") await settle();
  if (message.kind === "digest") process.send({ kind: "digest", peers: await digests() });
}

async function begin({ appId, token, peers: given, pauseMs }) {
  for (const { name, team, url } of given) {
    const peer = await openPeer({ appId, url, token, memory: true, deviceName: name });
    watch(name, peer);
    peer.sync.registerSubscription("SELECT * FROM marks WHERE team = :team", { team });
    peer.sync.registerSubscription("SELECT * FROM totals WHERE _id = :team", { team });
    peer.sync.start();
    peers.push({ name, team, peer });
  }
  setInterval(report, REPORT_MS).unref();
  writing = peers.map((each) => write(each, pauseMs));
  process.send({ kind: "begun" });
}

/** Notes what may explain a failure. */
function watch(name, peer) {
  const note = (text) => process.stdout.write(`${new Date().toISOString()} ${name} ${text}\n`);
  let last = "";
  peer.on("status", ({ state, code, message }) => {
    const text = [state, code, message].filter((part) => part !== undefined).join(" ");
    if (text !== last) note(text);
    last = text;
  });
  peer.on("error", (error) => note(`error ${error.code} ${error.message}`));
}

async function write({ name, team, peer }, [from, to]) {
  for (let number = 1; work.isWriting; number++) {
    await setTimeout(from + Math.random() * (to - from));
    // The total comes from the server: without it there is nothing to add to.
    const total = await peer.store.execute("SELECT * FROM totals WHERE _id = :team", { team });
    if (!work.isWriting || total.items.length === 0) continue;
    const id = `${name}-${number}`;
    await peer.store.transaction(async (transaction) => {
      const mark = { _id: id, team };
      await transaction.execute("INSERT INTO marks DOCUMENTS (:mark)", { mark });
      const statement =
        "UPDATE COLLECTION totals (n COUNTER) APPLY n INCREMENT BY 1 WHERE _id = :team";
      await transaction.execute(statement, { team });
    });
    written.push({ id, team });
  }
}

function report() {
  if (written.length === 0) return;
  process.send({ kind: "marks", marks: written });
  written = [];
}

async function settle() {
  work.isWriting = false;
  await Promise.all(writing);
  report();
  process.send({ kind: "settled" });
}

function digests() {
  return Promise.all(
    peers.map(async ({ name, team, peer }) => {
      const marks = await peer.store.execute("SELECT _id FROM marks WHERE team = :team", { team });
      const totals = await peer.store.execute("SELECT * FROM totals WHERE _id = :team", { team });
      const { state, pendingCount } = peer.sync.status;
      return {
        name,
        team,
        total: totals.items[0]?.n,
        marks: marks.items.map(({ _id: id }) => id),
        pending: pendingCount,
        refused: peer.store.refused().length,
        state,
      };
    }),
  );
}
