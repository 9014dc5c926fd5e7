// Moves the documents of a device from the reference SDK to a Big Peer: it reads the persistence
// directory of an app with their SDK, and writes with @bigpeer/peer. It changes nothing there, and it
// can be run again: a document that the Big Peer has is left alone (docs/coming-from-ditto.md).
//
//   npm install @dittolive/ditto @bigpeer/peer @bigpeer/node
//   node examples/move-from-ditto.mjs --from DIRECTORY --counter tasks.likes
//   node examples/move-from-ditto.mjs --help
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { openPeer } from "@bigpeer/peer";

const USAGE = `Usage: node examples/move-from-ditto.mjs --from DIRECTORY [options]

Options:
  --from DIRECTORY           persistence directory of the app; close the app first
  --database ID              id of the database there (default: DITTO_DATABASE_ID)
  --quickstart FILE          file that the first start of the Big Peer wrote, with app and API key
                             (default: data/quickstart.json)
  --counter COLLECTION.FIELD a field that is a counter; may be repeated
  --collection NAME          a collection to move; may be repeated (default: all)
  --sdk FOLDER               folder from which @dittolive/ditto is found (default: this one)`;

const { values: given } = parseArgs({
  options: {
    from: { type: "string" },
    database: { type: "string", default: process.env.DITTO_DATABASE_ID },
    quickstart: { type: "string", default: "data/quickstart.json" },
    counter: { type: "string", multiple: true, default: [] },
    collection: { type: "string", multiple: true },
    sdk: { type: "string", default: "." },
    help: { type: "boolean", default: false },
  },
});
if (given.help || given.from === undefined || given.database === undefined) {
  console.log(USAGE);
  process.exit(given.help ? 0 : 2);
}

/** Documents that are written at once. */
const BATCH = 100;

/** The fields of a collection that are counters. */
function countersOf(collection) {
  const prefix = `${collection}.`;
  return given.counter.filter((name) => name.startsWith(prefix)).map((n) => n.slice(prefix.length));
}

/** Whether a value is the token of an attachment, as their SDK gives it. */
function isToken(value) {
  const { id, len, metadata } = value ?? {};
  return typeof id === "string" && id.length > 40 && len !== undefined && metadata !== undefined;
}

// Their side.
const theirs = createRequire(join(resolve(given.sdk), "package.json"))("@dittolive/ditto");
await theirs.init();
theirs.Logger.enabled = false;
const config = new theirs.DittoConfig(
  given.database,
  { mode: "smallPeersOnly" },
  resolve(given.from),
);
const source = await theirs.Ditto.open(config);

async function rowsOf(statement) {
  return (await source.store.execute(statement)).items.map((item) => item.value);
}

// Our side: a peer that uploads all that is written, and is not needed afterwards.
const { appId, apiKey: token, dataUrl: url } = JSON.parse(readFileSync(given.quickstart, "utf8"));
const folder = mkdtempSync(join(tmpdir(), "move-from-ditto-"));
const target = await openPeer({ appId, url, token, folder });
target.on("refused", ({ reason }) => console.error(`the Big Peer refused a write: ${reason}`));
target.on("error", ({ message }) => console.error(message));
target.sync.start();

/** The document for the Big Peer, and the names of its fields that are attachments. */
async function convert(document) {
  const attachments = [];
  for (const [name, value] of Object.entries(document)) {
    if (!isToken(value)) continue;
    attachments.push(name);
    const fetched = await source.store.fetchAttachment(value);
    document[name] = await target.attachments.create(await fetched.data(), value.metadata);
  }
  return { document, attachments };
}

async function move(collection) {
  const counters = countersOf(collection);
  const typesThere = counters.map((name) => `${name} COUNTER`).join(", ");
  const from = typesThere === "" ? collection : `COLLECTION ${collection} (${typesThere})`;
  const rows = await rowsOf(`SELECT * FROM ${from}`);
  // What the Big Peer has already stays as it is.
  const known = target.sync.registerSubscription(`SELECT * FROM ${collection}`);
  await known.whenReady();
  let contents = 0;
  for (let start = 0; start < rows.length; start += BATCH) {
    const batch = await Promise.all(rows.slice(start, start + BATCH).map(convert));
    const names = new Set(batch.flatMap(({ attachments }) => attachments));
    contents += batch.reduce((sum, { attachments }) => sum + attachments.length, 0);
    const types = [
      ...counters.map((name) => `${name} COUNTER`),
      ...[...names].map((name) => `${name} ATTACHMENT`),
    ].join(", ");
    const into = types === "" ? collection : `COLLECTION ${collection} (${types})`;
    await target.store.execute(
      `INSERT INTO ${into} DOCUMENTS (:documents) ON ID CONFLICT DO NOTHING`,
      {
        documents: batch.map(({ document }) => document),
      },
    );
  }
  const counted = counters.length === 0 ? "" : `, counters: ${counters.join(", ")}`;
  console.log(`${collection}: ${rows.length} documents, ${contents} attachments${counted}`);
}

/** Resolves when the Big Peer has all writes. */
function uploaded() {
  return new Promise((done) => {
    const look = ({ pendingCount }) => {
      if (pendingCount === 0) done();
    };
    target.on("status", look);
    look(target.sync.status);
  });
}

const collections =
  given.collection ?? (await rowsOf("SELECT * FROM system:collections")).map(({ name }) => name);
for (const name of collections.filter((each) => !each.startsWith("__"))) await move(name);
await uploaded();
console.log(`the Big Peer at ${url} has all of it`);
await target.close();
rmSync(folder, { recursive: true, force: true });
await source.close();
process.exit(0);
