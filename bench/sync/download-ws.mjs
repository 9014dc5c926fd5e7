/**
 * Floor of a download: receives JSON messages, parses them and stores the documents in a Map, or in
 * raw LMDB with one batch for each message, all durable at the end.
 */
import { createRequire } from "node:module";
import { openRaw, putGroup } from "../floor/raw-lmdb.mjs";
import { answer, cpuSecondsSince } from "./answers.mjs";

answer({
  async download({ from, url, documents, folder }) {
    const { WebSocket } = createRequire(from)("ws");
    const raw = folder === undefined ? undefined : openRaw(folder);
    const map = new Map();
    const puts = [];
    let count = 0;
    const cpu = process.cpuUsage();
    const startedAt = performance.now();
    const socket = new WebSocket(url);
    await new Promise((resolve, reject) => {
      socket.on("error", reject);
      socket.on("message", (bytes) => {
        const piece = JSON.parse(bytes.toString());
        count += piece.length;
        if (raw === undefined) for (const document of piece) map.set(document["_id"], document);
        else
          puts.push(
            putGroup(
              raw,
              piece.map((document) => [document["_id"], document]),
            ),
          );
        if (count === documents) resolve();
      });
    });
    await Promise.all(puts);
    const ms = performance.now() - startedAt;
    const cpuSeconds = cpuSecondsSince(cpu);
    socket.close();
    await raw?.close();
    return { ms, cpuSeconds };
  },
});
