/**
 * Client of the download benchmark: Triplit subscribes to all documents, in memory. The time ends
 * when the client reports that the server has answered its query.
 */
import { createRequire } from "node:module";
import { fieldsOf, idOf } from "../floor/cars.mjs";
import { answer, cpuSecondsSince } from "./answers.mjs";
import { load } from "./triplit-module.mjs";

answer({
  async download({ from, url, token, documents }) {
    const { WebSocket } = createRequire(from)("ws");
    // Node 20 has no WebSocket. Triplit dispatches an event on it that no code waits for.
    globalThis.WebSocket = class extends WebSocket {
      dispatchEvent() {
        return true;
      }
    };
    const { TriplitClient } = await load(from, "@triplit/client/dist/index.js");
    const client = new TriplitClient({ serverUrl: url, token, autoConnect: false });
    const cpu = process.cpuUsage();
    const startedAt = performance.now();
    await new Promise((resolve, reject) => {
      client.subscribeBackground(client.query("cars"), { onFulfilled: resolve, onError: reject });
      client.connect().catch(reject);
    });
    const ms = performance.now() - startedAt;
    const cpuSeconds = cpuSecondsSince(cpu);
    const found = await client.fetch(client.query("cars"), { policy: "local-only" });
    const one = found.find(({ id }) => id === idOf(documents - 1));
    if (found.length !== documents || one?.mileage !== fieldsOf(documents - 1).mileage) {
      throw new Error(`expected ${documents} documents, found ${found.length}`);
    }
    return { ms, cpuSeconds };
  },
});
