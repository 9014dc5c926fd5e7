/**
 * Attacks with slow transfers: attachments that are uploaded byte by byte, large answers that the
 * client does not read, and remote statements whose peers send the largest possible answers.
 */
import { encodeMessage } from "@bigpeer/protocol";
import { joined } from "./sync.mjs";

const FORM_HEAD = '--b\r\nContent-Disposition: form-data; name="file"; filename="f"\r\n\r\n';

/** Uploads that send a byte from time to time. */
async function slowUploads(target, { count, everyMs }) {
  await target.many(count, async () => {
    const socket = await target.socket();
    if (socket === undefined) return;
    socket.once("data", (chunk) => target.tally(chunk.latin1Slice(9, 12)));
    socket.write(
      `POST /api/v4/attachments/upload HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${target.keys.writer}\r\n` +
        `Content-Type: multipart/form-data; boundary=b\r\nContent-Length: 100000000\r\n\r\n${FORM_HEAD}`,
    );
    while (!target.isOver && !socket.destroyed) {
      await target.pause(everyMs);
      if (!socket.destroyed) socket.write("x");
    }
    await target.pause(50);
  });
}

/** Uploads as many small attachments as possible. */
async function manyUploads(target) {
  let count = 0;
  await target.many(70, () =>
    target.send({
      path: "/api/v4/attachments/upload",
      key: target.keys.writer,
      type: "multipart/form-data; boundary=b",
      body: Buffer.from(`${FORM_HEAD}content ${count++}\r\n--b--\r\n`),
    }),
  );
}

/** Requests the largest answers and does not read them. */
async function deafReaders(target, count) {
  const statement = "SELECT * FROM orders";
  await target.many(count, async (i, round) => {
    const socket = await target.socket();
    if (socket === undefined) return;
    const body = JSON.stringify({ statement: `${statement} /* ${i} ${round} */` });
    socket.write(
      `POST /api/v4/store/execute HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${target.keys.reader}\r\n` +
        `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
    socket.once("data", (chunk) => {
      target.tally(chunk.latin1Slice(9, 12));
      socket.pause();
    });
    while (!target.isOver && !socket.destroyed) await target.pause(100);
  });
}

/** Forty peers that answer each remote statement with 4 MB, and as many statements as possible. */
async function remoteStatements(target) {
  const rows = Array.from({ length: 1_000 }, (_, i) => ({ i, text: "r".repeat(3_900) }));
  const small = Array.from({ length: 10_000 }, () => ({}));
  const answer = (message, client) => {
    if (message.t !== "run") return;
    const items = message.id % 2 === 0 ? rows : small;
    const end = { elapsedMs: 1, warnings: [], totalWarnings: 0 };
    client.send(encodeMessage({ t: "answer", id: message.id, items, end }));
  };
  for (let i = 0; i < 40 && !target.isOver; i++) {
    await joined(target, target.keys.writer, { hear: answer });
  }
  await target.many(24, (i, round) =>
    target.json("/api/v4/sync/remote_execute", target.keys.writer, {
      statement: `SYNC CONTEXT (PEERS) SELECT * FROM orders /* ${i} ${round} */`,
    }),
  );
}

export const TRANSFER_ATTACKS = [
  {
    name: "slow-uploads",
    credential: "writer's key",
    what: "80 uploads of attachments that come byte by byte",
    run: (target) => slowUploads(target, { count: 80, everyMs: 1_000 }),
  },
  {
    name: "many-uploads",
    credential: "writer's key",
    what: "70 connections that upload small attachments",
    run: manyUploads,
  },
  {
    name: "deaf-readers",
    credential: "reader's key",
    what: "40 answers with all documents that the client does not read",
    run: (target) => deafReaders(target, 40),
  },
  {
    name: "remote-statements",
    credential: "writer's key",
    what: "statements on 40 peers that answer with 4 MB each",
    run: remoteStatements,
  },
];
