/**
 * Handshakes of raw clients: the messages that a client sends to each server to subscribe and to
 * stay connected. A handshake begins when a client is connected, and receives all messages without
 * a write. `hear` returns whether the client is now subscribed. A handshake may also have `open` and
 * `count`, where the client is not one of WebSocket, or counts writes in another way.
 */
import { createRequire } from "node:module";
import { bareEvents, changeFeed } from "../changes/speech.mjs";

function siteOf(i) {
  return (i + 1).toString(16).padStart(16, "0");
}

/** `own`: each client follows another document. */
function queryOf(i, { follows }) {
  if (follows === "own") {
    return { query: "SELECT * FROM cars WHERE holder = :me", args: { me: `holder ${i}` } };
  }
  return { query: "SELECT * FROM cars", args: {} };
}

async function bigPeer(given) {
  const { decodeServerMessage, encodeMessage, SYNC_VERSION } = await import("@bigpeer/protocol");
  const helloOf = (i) => ({
    t: "hello",
    version: SYNC_VERSION,
    token: given.token,
    site: siteOf(i),
    peer: { key: `bench-${i}`, deviceName: "bench", os: "none", sdk: "none", metadata: {} },
    now: Date.now(),
  });
  return {
    begin(client, i) {
      client.send(encodeMessage(helloOf(i)));
      return false;
    },
    hear(client, i, bytes) {
      const message = decodeServerMessage(bytes);
      switch (message.t) {
        case "welcome":
          client.send(encodeMessage({ t: "subscribe", id: 1, ...queryOf(i, given) }));
          return false;
        case "complete":
          return true;
        case "ping":
          client.send(encodeMessage({ t: "pong", ping: message.now, now: Date.now() }));
          return false;
        case "bye":
        case "behind":
        case "unsubscribed":
          throw new Error(`expected to follow, found ${JSON.stringify(message)}`);
        default:
          return false;
      }
    },
  };
}

/** Sends nothing: a connected client receives everything. */
function bare() {
  return { begin: () => true, hear: () => false };
}

/** The provider's messages: authentication, then the first step of Yjs, whose answer is awaited. */
function hocuspocus({ from, follows }) {
  const require = createRequire(from);
  const encoding = require("lib0/encoding");
  const decoding = require("lib0/decoding");
  const { Doc } = require("yjs");
  const { writeSyncStep1 } = require("y-protocols/sync");
  const SYNC = 0;
  const AUTH = 2;
  const STEP_2 = 1;
  const nameOf = (i) => (follows === "own" ? `cars-${i}` : "cars");
  const messageOf = (i, kind, write) => {
    const encoder = encoding.createEncoder();
    encoding.writeVarString(encoder, nameOf(i));
    encoding.writeVarUint(encoder, kind);
    write(encoder);
    return encoding.toUint8Array(encoder);
  };
  return {
    begin(client, i) {
      client.send(
        messageOf(i, AUTH, (encoder) => {
          encoding.writeVarUint(encoder, 0);
          encoding.writeVarString(encoder, "token");
          encoding.writeVarString(encoder, "4.7.0");
        }),
      );
      client.send(messageOf(i, SYNC, (encoder) => writeSyncStep1(encoder, new Doc())));
      return false;
    },
    hear(_client, _i, bytes) {
      const decoder = decoding.createDecoder(new Uint8Array(bytes));
      decoding.readVarString(decoder);
      return decoding.readVarUint(decoder) === SYNC && decoding.readVarUint(decoder) === STEP_2;
    },
  };
}

export const SPEECHES = {
  bare,
  "bare events": bareEvents,
  "big peer": bigPeer,
  "change feed": changeFeed,
  hocuspocus,
};
