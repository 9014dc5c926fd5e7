/**
 * Benchmark of idle connections: resident memory of a server with none, some and many of them, each
 * with one subscription, after garbage collection (see memory.mjs). Some clients connect and leave
 * before the first measurement, so that code and memory pools are loaded.
 */
import { join } from "node:path";
import { Crowds } from "./crowds.mjs";
import { startBare, startBigPeer, startHocuspocus } from "./servers.mjs";
import { figure, row, verdict } from "./table.mjs";

const PROCESSES = 2;
const WARM = 100;
const GOAL_KB = 40;
const KB = 1024;
const MB = 1024 * 1024;

/** Memory for each number of connections, and connections opened a second. */
async function measureServer(server, follows, counts) {
  const crowds = new Crowds(PROCESSES);
  const found = [];
  let openMs = 0;
  await crowds.grow(WARM, server, follows);
  await crowds.leave();
  for (const count of counts) {
    const startedAt = performance.now();
    await crowds.grow(count, server, follows);
    openMs += performance.now() - startedAt;
    found.push(await server.child.ask("memory"));
    if (count > 0) await crowds.counted();
  }
  await crowds.stop();
  await server.child.stop();
  return { found, opened: (counts.at(-1) * 1000) / openMs };
}

/** Bytes of objects and buffers, without unused parts of pages. */
function held({ heapUsed, external }) {
  return heapUsed + external;
}

function print(title, counts, { found, opened }) {
  const [none] = found;
  const [some, many] = found.slice(-2);
  const more = counts.at(-1) - counts.at(-2);
  const perConnection = (many.rss - none.rss) / counts.at(-1) / KB;
  row(`  ${title}`, [
    ...found.map(({ rss }) => figure(rss / MB)),
    figure(perConnection, 1),
    figure((many.rss - some.rss) / more / KB, 1),
    figure((held(many) - held(none)) / counts.at(-1) / KB, 1),
    figure(opened),
  ]);
  return perConnection;
}

export async function measureIdle({ folder, quick, takePart }) {
  const counts = quick ? [0, 200, 1_000] : [0, 1_000, 5_000];
  const contestants = [
    { name: "ws", title: "bare ws", follows: "same", begin: startBare },
    { name: "big peer", title: "big peer, each its own", follows: "own", begin: startBigPeer },
    { name: "big peer", title: "big peer, all the same", follows: "same", begin: startBigPeer },
    {
      name: "hocuspocus",
      title: "hocuspocus, each its own",
      follows: "own",
      begin: startHocuspocus,
    },
    {
      name: "hocuspocus",
      title: "hocuspocus, all the same",
      follows: "same",
      begin: startHocuspocus,
    },
  ];
  row("resident MB with so many connections", [
    ...counts.map((count) => figure(count)),
    "KB for each",
    "KB for later",
    "KB held",
    "opened/s",
  ]);
  for (const { name, title, follows, begin } of contestants) {
    const measured = await takePart(name, async () =>
      measureServer(await begin(join(folder, `idle-${follows}`)), follows, counts),
    );
    if (measured === undefined) continue;
    const kilobytes = print(title, counts, measured);
    if (name === "big peer") {
      verdict(`at most ${GOAL_KB} KB for each connection`, kilobytes <= GOAL_KB);
    }
  }
}
