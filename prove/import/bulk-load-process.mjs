/**
 * Loads a file of documents over HTTP as a program of a user would: statements with 1,000 documents
 * each, four at the same time, each sent once.
 */
import { createReadStream } from "node:fs";

const BATCH = 1_000;
const AT_ONCE = 4;

const { url, key, file, collection } = JSON.parse(process.argv[2]);
const statement = JSON.stringify(`INSERT INTO ${collection} DOCUMENTS (:documents)`);
const underWay = new Set();

async function send(lines) {
  const answer = await fetch(`${url}/api/v4/store/execute`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: `{"statement":${statement},"args":{"documents":[${lines.join(",")}]}}`,
  });
  if (!answer.ok) throw new Error(`expected 200, found ${answer.status}: ${await answer.text()}`);
  await answer.text();
}

async function start(lines) {
  while (underWay.size >= AT_ONCE) await Promise.race(underWay);
  const sent = send(lines).finally(() => underWay.delete(sent));
  underWay.add(sent);
}

let rest = "";
let batch = [];
for await (const piece of createReadStream(file, { encoding: "utf8" })) {
  const lines = (rest + piece).split("\n");
  rest = lines.pop();
  for (const line of lines) {
    batch.push(line);
    if (batch.length < BATCH) continue;
    await start(batch);
    batch = [];
  }
}
if (batch.length > 0) await start(batch);
await Promise.all(underWay);
