/**
 * A process with many small peers that write all the time, for the test of a whole fleet.
 *
 * Each peer belongs to a team and follows the marks of its team and all totals. Each of its writes
 * is one transaction: a mark, and one more in the total of its team; so the total says how many
 * marks there must be. What was written durably is told line by line: `mark <id>`.
 *
 *   in:  settle            writes no more, answers {"pending": …} when asked again
 *        digest <peer>     answers {"marks": [ids], "totals": {team: n}}
 */

import { join } from "node:path";
import { createInterface } from "node:readline";
import { openPeer } from "../../src/index.ts";

const [url = "", appId = "", token = "", folder = "", from = "0", to = "0", teams = "1"] =
  process.argv.slice(2);

type OpenedPeer = Awaited<ReturnType<typeof openPeer>>;

const peers = new Map<number, OpenedPeer>();
const state = { isWriting: true };

function report(line: unknown): void {
  process.stdout.write(`${JSON.stringify(line)}\n`);
}

function teamOf(number: number): number {
  return number % Number(teams);
}

async function begin(number: number): Promise<void> {
  const peer = await openPeer({ appId, url, token, folder: join(folder, `peer-${number}`) });
  const team = teamOf(number);
  peer.sync.registerSubscription("SELECT * FROM marks WHERE team = :team", { team });
  peer.sync.registerSubscription("SELECT * FROM totals");
  peer.sync.start();
  peers.set(number, peer);
  void write(number, peer);
}

async function write(number: number, peer: OpenedPeer): Promise<void> {
  const life = `${Date.now().toString(36)}${process.pid.toString(36)}`;
  const team = teamOf(number);
  for (let n = 0; state.isWriting; n++) {
    // Each total goes to all peers: at shorter pauses a small machine works off the writes for minutes.
    await new Promise((resolve) => setTimeout(resolve, 4000 + Math.random() * 24000));
    // The total comes from the server: without it nothing can be added to.
    const total = await peer.store.execute("SELECT * FROM totals WHERE _id = :team", { team });
    if (!state.isWriting || total.items.length === 0) continue;
    const id = `${number}-${life}-${n}`;
    await peer.store.transaction(async (transaction) => {
      const mark = { _id: id, team, text: "x".repeat(Math.floor(Math.random() * 200)) };
      await transaction.execute("INSERT INTO marks DOCUMENTS (:mark)", { mark });
      const statement = `UPDATE COLLECTION totals (n COUNTER) APPLY n INCREMENT BY 1 WHERE _id = :team`;
      await transaction.execute(statement, { team });
    });
    report({ mark: id });
  }
}

async function digest(number: number): Promise<unknown> {
  const peer = peers.get(number);
  if (peer === undefined) throw new Error(`expected a peer of this process, found ${number}`);
  const marks = await peer.store.execute("SELECT _id FROM marks ORDER BY _id");
  const totals = await peer.store.execute("SELECT * FROM totals ORDER BY _id");
  const info = await peer.store.execute("SELECT * FROM marks WHERE team != :team", {
    team: teamOf(number),
  });
  return {
    marks: marks.items.map((item) => item["_id"]),
    totals: totals.items.map((item) => item["n"]),
    strangers: info.items.length,
    pending: peer.sync.status.pendingCount,
    refused: peer.store.refused().length,
  };
}

for (let number = Number(from); number < Number(to); number++) await begin(number);
report({ ready: true });
for await (const line of createInterface({ input: process.stdin })) {
  const [word, number] = line.split(" ");
  if (word === "settle") {
    state.isWriting = false;
    report({ settled: true });
  } else {
    report({ digest: await digest(Number(number)) });
  }
}
for (const peer of peers.values()) await peer.close();
