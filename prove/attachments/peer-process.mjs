/**
 * A small peer as its own process: a sender, which creates each content that its store does not have
 * yet, or a receiver, which fetches all contents in advance and hashes what it has. Prints a line of
 * JSON for each content that is ready.
 *
 *   node peer-process.mjs send|receive OPTIONS
 *
 * OPTIONS is JSON: the options of the peer, and `contents`.
 */
import { createHash } from "node:crypto";
import { openPeer } from "@bigpeer/peer";
import { contentOf } from "./contents.mjs";

const INSERT = "INSERT INTO COLLECTION files (content ATTACHMENT) DOCUMENTS (:file)";
const ALL = "SELECT * FROM COLLECTION files (content ATTACHMENT)";

const [role, text] = process.argv.slice(2);
const { contents, ...options } = JSON.parse(text);
const peer = await openPeer(options);
peer.on("error", (error) => report({ error: error.message }));
peer.on("refused", ({ reason }) => report({ error: `refused: ${reason}` }));

function report(line) {
  process.stdout.write(`${JSON.stringify(line)}\n`);
}

async function send() {
  const { items } = await peer.store.execute("SELECT _id FROM files");
  const known = new Set(items.map(({ _id }) => _id));
  peer.sync.start();
  for (const [i, content] of contents.entries()) {
    if (known.has(i)) continue;
    const token = await peer.attachments.create(pieces(content), { key: content.key });
    await peer.store.execute(INSERT, { file: { _id: i, content: token } });
    report({ created: i });
  }
  report({ isDone: true });
}

async function* pieces(content) {
  yield* contentOf(content);
}

async function receive() {
  const fetched = new Set();
  peer.sync.registerSubscription("SELECT * FROM files", {}, { prefetch: true });
  peer.store.registerObserver(ALL, ({ items }) => {
    for (const { _id, content } of items) {
      if (fetched.has(_id)) continue;
      fetched.add(_id);
      void fetchFile(_id, content);
    }
  });
  peer.sync.start();
}

async function fetchFile(id, token) {
  const content = await peer.attachments.fetch(token);
  const hash = createHash("sha256");
  for await (const piece of content.stream()) hash.update(piece);
  report({ arrived: id, digest: hash.digest("base64url"), key: content.metadata.key });
}

await (role === "send" ? send() : receive());
