/**
 * Attacks with connections alone, without a credential: floods after `bye`, fragments, silence,
 * slow headers and bodies, wrong credentials.
 */
import { encodeMessage } from "@bigpeer/protocol";
import { helloOf } from "../honest-clients.mjs";

const KB = 1024;
const ANSWER_END = "\r\n\r\n";

/** A frame of a client with a mask of zeros. */
function frame(opcode, content, { isLast = true } = {}) {
  const size = content.length;
  const head = Buffer.alloc(size < 126 ? 6 : size < 65_536 ? 8 : 14);
  head[0] = (isLast ? 128 : 0) | opcode;
  head[1] = 128 | (size < 126 ? size : size < 65_536 ? 126 : 127);
  if (size >= 65_536) head.writeBigUInt64BE(BigInt(size), 2);
  else if (size >= 126) head.writeUInt16BE(size, 2);
  return Buffer.concat([head, content]);
}

function repeated(part, size) {
  return Buffer.concat(Array.from({ length: Math.floor(size / part.length) }, () => part));
}

/** Opens WebSockets, sends `first`, then repeats `flood` while the connection is open. */
function flood(count, { first, flood: bytes, addressOf = () => undefined }) {
  return (target) =>
    target.many(count, async (i) => {
      const client = await target.webSocket({ address: addressOf(i) });
      if (client === undefined) return;
      // The attacker does not read answers, so it never waits for the server.
      client.socket.write(first);
      while (!target.isOver && (await target.pour(client.socket, bytes)));
      client.close();
      await target.pause(10);
    });
}

const TEXT = 1;
const BINARY = 2;
const CONTINUATION = 0;
const PING = 9;

const MALFORMED = frame(TEXT, Buffer.from("what?"));
const NOISE = repeated(frame(BINARY, Buffer.alloc(64 * KB, 0x80)), 256 * KB);
const SMALL_NOISE = repeated(frame(BINARY, Buffer.from([0xa0])), 64 * KB);
const ONE_BYTE_PARTS = repeated(
  frame(CONTINUATION, Buffer.from([0x80]), { isLast: false }),
  64 * KB,
);
const NO_BYTE_PARTS = repeated(frame(CONTINUATION, Buffer.alloc(0), { isLast: false }), 64 * KB);
const PINGS = repeated(frame(PING, Buffer.alloc(0)), 64 * KB);
const everywhere = (i) => `127.0.1.${1 + (i % 250)}`;

/** Sends `first`, then messages of 16 MB without their last byte. */
function unfinished(count, first) {
  return (target) => {
    const content = Buffer.alloc(1024 * KB, 0x80);
    return target.many(count, async () => {
      const client = await target.webSocket();
      if (client === undefined) return;
      client.socket.write(first);
      client.socket.write(frame(BINARY, Buffer.alloc(16 * 1024 * KB)).subarray(0, 14));
      for (let i = 0; i < 15 && !target.isOver; i++) await target.pour(client.socket, content);
      while (!target.isOver && !client.isClosed) await target.pause(50);
    });
  };
}

/** Opens as many silent connections as possible. */
function silence(count, path) {
  return async (target) => {
    const one = async () => {
      const client = await target.webSocket({ path });
      if (client === undefined) return;
      target.tally("open");
      while (!client.isClosed && !target.isOver) await target.pause(100);
      await target.pause(20);
    };
    await target.many(count, one);
  };
}

/** Sends `head`, then repeats `drop` with a pause in between. */
function trickle(count, { head, drop, everyMs, addressOf = () => undefined }) {
  return (target) =>
    target.many(count, async (i) => {
      const socket = await target.socket(addressOf(i));
      if (socket === undefined) return;
      socket.once("data", (chunk) => target.tally(chunk.latin1Slice(9, 12)));
      socket.write(head(target));
      while (!target.isOver && !socket.destroyed) {
        await target.pause(everyMs);
        if (!socket.destroyed) socket.write(drop);
      }
    });
}

function headOf(target, path, { key, size, type = "application/json" }) {
  const authorization = key === undefined ? "" : `Authorization: Bearer ${key}\r\n`;
  return (
    `POST ${path} HTTP/1.1\r\nHost: 127.0.0.1:${target.port}\r\n${authorization}` +
    `Content-Type: ${type}\r\nContent-Length: ${size}${ANSWER_END}`
  );
}

/** Sends bodies without their last byte, which use up the limit of all bodies. */
async function withheldBodies(target, count) {
  const size = 8 * 1024 * KB - KB;
  const content = Buffer.alloc(size - 1, 0x20);
  await target.many(count, async () => {
    const socket = await target.socket();
    if (socket === undefined) return;
    const answer = { isThere: false };
    socket.on("data", (chunk) => {
      if (!answer.isThere) target.tally(chunk.latin1Slice(9, 12));
      answer.isThere = true;
    });
    socket.write(headOf(target, "/api/v4/store/execute", { key: target.keys.empty, size }));
    await target.pour(socket, content);
    while (!target.isOver && !socket.destroyed && !answer.isThere) await target.pause(50);
    socket.destroy();
    await target.pause(20);
  });
}

async function wrongHellos(target) {
  const bytes = encodeMessage(
    helloOf("bp_0000000000000000000000000000000000000000000", "00000000000000ff"),
  );
  await target.many(50, async () => {
    const client = await target.webSocket();
    if (client === undefined) return;
    client.send(bytes);
    while (!target.isOver && !client.isClosed) await target.pause(5);
  });
}

function tokenPart(value) {
  return Buffer.from(JSON.stringify(value)).toString("base64url");
}

/** Forged JWTs that are expensive to decode. */
async function forgedTokens(target) {
  const claims = Buffer.from(`{"aud":"${target.appId}","exp":0.${"3".repeat(8_000)}}`);
  const token = `${tokenPart({ alg: "RS256", kid: "k" })}.${claims.toString("base64url")}.${"A".repeat(340)}`;
  const body = Buffer.from("{}");
  await target.many(32, () => target.send({ path: "/api/v4/store/execute", key: token, body }));
}

async function churn(target) {
  await target.many(100, async () => {
    const socket = await target.socket();
    socket?.write("GET / HTTP/1.1\r\n");
    await target.pause(5);
    socket?.destroy();
  });
}

const LIMITED_SLOTS = ["--sync-connections", "400"];

export const CONNECTION_ATTACKS = [
  {
    name: "bye-flood",
    credential: "none",
    what: "150 WebSockets that keep sending 64 KB messages after the server said bye",
    run: flood(150, { first: MALFORMED, flood: NOISE }),
  },
  {
    name: "bye-flood-small",
    credential: "none",
    what: "150 WebSockets that keep sending tiny messages after the server said bye",
    run: flood(150, { first: MALFORMED, flood: SMALL_NOISE }),
  },
  {
    name: "bye-flood-everywhere",
    credential: "none",
    what: "500 WebSockets of 250 addresses that keep sending after the server said bye",
    run: flood(500, { first: MALFORMED, flood: NOISE, addressOf: everywhere }),
  },
  {
    name: "bye-flood-large",
    credential: "none",
    what: "150 WebSockets that send 15 MB of a message of 16 MB after the server said bye",
    run: unfinished(150, MALFORMED),
  },
  {
    name: "fragments",
    credential: "none",
    what: "150 WebSockets that send fragments of one byte before hello",
    run: flood(150, {
      first: frame(BINARY, Buffer.from([0x80]), { isLast: false }),
      flood: ONE_BYTE_PARTS,
    }),
  },
  {
    name: "fragments-empty",
    credential: "none",
    what: "150 WebSockets that send fragments without content before hello",
    run: flood(150, {
      first: frame(BINARY, Buffer.alloc(0), { isLast: false }),
      flood: NO_BYTE_PARTS,
    }),
  },
  {
    name: "fragments-everywhere",
    credential: "none",
    what: "500 WebSockets of 250 addresses that send fragments of one byte before hello",
    run: flood(500, {
      first: frame(BINARY, Buffer.from([0x80]), { isLast: false }),
      flood: ONE_BYTE_PARTS,
      addressOf: everywhere,
    }),
  },
  {
    name: "pings",
    credential: "none",
    what: "100 WebSockets that send pings before hello and read no pong",
    run: flood(100, { first: frame(PING, Buffer.alloc(0)), flood: PINGS }),
  },
  {
    name: "silent-sync",
    credential: "none",
    what: "one address uses every connection of sync with silent WebSockets",
    flags: LIMITED_SLOTS,
    run: silence(600, "/sync"),
  },
  {
    name: "slow-handshake",
    credential: "none",
    what: "one address uses up connections with upgrades that send a byte from time to time",
    flags: LIMITED_SLOTS,
    run: trickle(1_000, {
      head: () =>
        "GET /sync HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nX: ",
      drop: "x",
      everyMs: 1_000,
    }),
  },
  {
    name: "slow-headers",
    credential: "none",
    what: "one address with 11,000 connections whose headers come byte by byte",
    run: trickle(11_000, { head: () => "GET / HTTP/1.1\r\nX: ", drop: "x", everyMs: 4_000 }),
  },
  {
    name: "slow-logins",
    credential: "none",
    what: "1,500 logins whose bodies come byte by byte",
    run: trickle(1_500, {
      head: (target) => headOf(target, `/${target.appId}/auth/login`, { size: 60_000 }),
      drop: " ",
      everyMs: 500,
    }),
  },
  {
    name: "slow-bodies",
    credential: "empty key",
    what: "2,500 calls whose bodies come byte by byte",
    run: trickle(2_500, {
      head: (target) =>
        headOf(target, "/api/v4/store/execute", { key: target.keys.empty, size: 1_000_000 }),
      drop: " ",
      everyMs: 1_000,
    }),
  },
  {
    name: "withheld-bodies",
    credential: "empty key",
    what: "bodies of 8 MB without their last byte, forty at once",
    run: (target) => withheldBodies(target, 40),
  },
  {
    name: "wrong-hellos",
    credential: "none",
    what: "50 peers with a wrong key, repeatedly",
    run: wrongHellos,
  },
  {
    name: "forged-tokens",
    credential: "none",
    what: "forged JWTs with long numbers in them",
    run: forgedTokens,
  },
  { name: "churn", credential: "none", what: "connections that open and close", run: churn },
];
