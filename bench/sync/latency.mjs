/**
 * Benchmark of the latency from a write over HTTP to a subscriber on a WebSocket, with a durable
 * commit in between. Writes run one after the other. The writer and the subscriber are in one
 * process and use one clock. Only Big Peer takes part.
 */
import { join } from "node:path";
import { start } from "./process.mjs";
import { startBigPeer } from "./servers.mjs";
import { figure, quantile, row } from "./table.mjs";
import { fieldsOfTurn, idOfTurn, TARGETS } from "./turn.mjs";

export async function measureLatency({ folder, quick, takePart }) {
  const writes = quick ? 300 : 5_000;
  const warm = quick ? 100 : 1_000;
  const measured = await takePart("big peer", async () => {
    const server = await startBigPeer(join(folder, "latency"));
    await server.fill(TARGETS, (i) => ({ _id: idOfTurn(i), ...fieldsOfTurn(i) }));
    const subscriber = start("subscriber.mjs");
    const { port, token, path } = server;
    const found = await subscriber.ask("measure", { port, token, path, warm, writes });
    await subscriber.stop();
    await server.child.stop();
    return found;
  });
  if (measured === undefined) return;
  row(`${figure(writes)} writes, milliseconds`, ["p50", "p99", "most"]);
  for (const [title, times] of [
    ["  until the subscriber has it", measured.arrivals],
    ["  until the write is answered", measured.answers],
  ]) {
    row(
      title,
      [0.5, 0.99, 1].map((part) => figure(quantile(times, part), 2)),
    );
  }
}
