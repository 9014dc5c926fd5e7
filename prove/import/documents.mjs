/**
 * Documents of the proof: many plain ones in files, in the order of their ids, and some with every
 * type in a server.
 */
import { once } from "node:events";
import { createWriteStream } from "node:fs";
import { encodeCbor } from "../../packages/protocol/dist/index.js";

const CITIES = ["Bergen", "København", "Łódź", "Praha", "São Paulo", "東京"];
const TAGS = ["new", "sold", "late", "fragile", "gift"];

/** Documents of one statement. */
const BATCH = 500;

function documentOf(number, random) {
  return {
    _id: `d${String(number).padStart(9, "0")}`,
    number,
    name: `item ${random.below(1e9).toString(36)}`,
    price: random.below(1e6) / 100,
    isActive: random.chance(0.5),
    note: random.chance(0.1) ? null : 'a "note"\nof two lines',
    tags: TAGS.filter(() => random.chance(0.3)),
    address: { city: random.pick(CITIES), zip: String(random.below(1e5)).padStart(5, "0") },
  };
}

/** Writes `documents` documents, each of `paths` with an equal part of them. */
export async function writeFiles(paths, documents, random) {
  for (const [index, path] of paths.entries()) {
    const file = createWriteStream(path);
    const [from, to] = [index, index + 1].map((at) => Math.floor((documents * at) / paths.length));
    let text = "";
    for (let number = from; number < to; number++) {
      text += `${JSON.stringify(documentOf(number, random))}\n`;
      if (text.length < 1e6) continue;
      if (!file.write(text)) await once(file, "drain");
      text = "";
    }
    file.end(text);
    await once(file, "close");
  }
}

const STATEMENT = `INSERT INTO COLLECTION kinds
  (n COUNTER, r REGISTER, m MAP (n COUNTER, inner MAP (r REGISTER)), f ATTACHMENT) DOCUMENTS (:documents)`;

/** Writes documents with counters, registers, maps, binary, large numbers and attachments. */
export async function writeKinds(client, { url, key }, documents, random) {
  const contents = [];
  for (let index = 0; index < 10; index++) {
    const bytes = Uint8Array.from({ length: 1 + random.below(50_000) }, () => random.below(256));
    const { id, len } = await client.attachments.upload(new Blob([bytes]));
    contents.push({ id, len, metadata: { name: `file ${index}` } });
  }
  for (let from = 0; from < documents; from += BATCH) {
    const length = Math.min(BATCH, documents - from);
    const batch = Array.from({ length }, (_, at) => kindOf(from + at, random, contents));
    await execute({ url, key }, { statement: STATEMENT, args: { documents: batch } });
  }
  // A counter is a sum of what several writers added.
  await client.execute("UPDATE kinds APPLY n INCREMENT BY 3 WHERE number > 10");
  await client.execute("UPDATE kinds APPLY n INCREMENT BY -1 WHERE number > 20");
  await client.execute("UPDATE kinds UNSET plain WHERE number > 30");
}

function kindOf(number, random, contents) {
  return {
    // Ids of several types.
    _id: number % 3 === 0 ? number : number % 3 === 1 ? `k${number}` : { shop: number, till: "a" },
    number,
    n: random.below(1000),
    r: { whole: true, list: [random.below(9)] },
    m: { n: random.below(10), t: "text", inner: { r: { a: number }, b: [1, { c: null }] } },
    f: random.pick(contents),
    plain: random.next(),
    large: 2n ** 62n + BigInt(number),
    binary: Uint8Array.from({ length: random.below(20) }, () => random.below(256)),
  };
}

/** JSON has no binary. */
async function execute({ url, key }, body) {
  const answer = await fetch(`${url}/api/v4/store/execute`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/cbor" },
    body: encodeCbor(body),
  });
  if (!answer.ok) throw new Error(`expected 200, found ${answer.status}: ${await answer.text()}`);
}
