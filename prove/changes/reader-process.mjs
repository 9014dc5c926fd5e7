/**
 * A reader of the change feed in a process of its own, which may be killed at any time: it notes each
 * change in a file, and continues after the last one.
 */
import { setTimeout as wait } from "node:timers/promises";
import { TakenChanges } from "./taken-changes.mjs";

const { url, key, file } = JSON.parse(process.argv[2]);
const taken = new TakenChanges(file);

for (;;) {
  try {
    await read(taken.restore() ?? "0");
  } catch {
    // The connection is lost.
  }
  await wait(100);
}

async function read(since) {
  const query = new URLSearchParams({ collection: "orders", view: "fields", since });
  const headers = { authorization: `Bearer ${key}`, accept: "application/x-ndjson" };
  const response = await fetch(`${url}/api/v4/store/changes?${query}`, { headers });
  if (!response.ok) throw new Error(`expected 200, found ${response.status}`);
  let rest = "";
  for await (const text of response.body.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + text).split("\n");
    rest = lines.pop();
    const changes = lines.map((line) => JSON.parse(line)).filter(({ type }) => type !== undefined);
    taken.add(changes.map(({ cursor, document }) => ({ cursor, number: document.number })));
  }
}
