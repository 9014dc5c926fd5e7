/**
 * Many raw clients in one process. They connect, subscribe, and count the writes that arrive. The
 * parent process receives a message each time all clients have the next write.
 */
import { answer, notify } from "./answers.mjs";
import { RawClient } from "./raw-client.mjs";
import { SPEECHES } from "./speech.mjs";
import { countMarks } from "./turn.mjs";

const AT_A_TIME = 32;

let clients = [];
let writes = [];
let stats = { writes: 0, messages: 0, bytes: 0, notified: 0 };
let fault;
let isShared = true;

function begin() {
  clients = [];
  writes = [];
  stats = { writes: 0, messages: 0, bytes: 0, notified: 0 };
  fault = undefined;
}

function openRaw(options) {
  return RawClient.open(options);
}

/** Starts one client. Resolves when it is subscribed. */
function join({ port, path, speech, number, place }) {
  const { open = openRaw, count: countOf = countMarks } = speech;
  return new Promise((resolve, reject) => {
    let follows = false;
    const fail = (reason) => {
      fault ??= `client ${number}: ${reason}`;
      reject(new Error(fault));
    };
    const onMessage = (bytes) => {
      const count = follows ? countOf(bytes) : 0;
      if (count > 0) {
        took(place, count, bytes.length);
        return;
      }
      try {
        if (speech.hear(clients[place], number, bytes)) {
          follows = true;
          resolve();
        }
      } catch (error) {
        fail(error.message);
      }
    };
    open({ port, path, number, onMessage, onClose: fail }).then((client) => {
      clients[place] = client;
      if (speech.begin(client, number)) {
        follows = true;
        resolve();
      }
    }, reject);
  });
}

function took(place, count, size) {
  writes[place] += count;
  stats.writes += count;
  stats.messages++;
  stats.bytes += size;
  if (isShared) {
    while (stats.writes >= clients.length * (stats.notified + 1)) {
      notify({ all: ++stats.notified });
    }
  }
}

answer({
  /** Adds clients, numbered from `from` on. `follows`: all the same documents, or each its own. */
  async connect({ port, path, name, given, from, count }) {
    const speech = await SPEECHES[name](given);
    const before = clients.length;
    isShared = given.follows === "same";
    for (let i = 0; i < count; i++) writes.push(0);
    let next = 0;
    const joiner = async () => {
      while (next < count) {
        const i = next++;
        await join({ port, path, speech, number: from + i, place: before + i });
      }
    };
    await Promise.all(Array.from({ length: AT_A_TIME }, joiner));
  },

  /** Writes that arrived so far. Throws if a client failed. */
  counted() {
    if (fault !== undefined) throw new Error(fault);
    return { ...stats, least: Math.min(...writes), most: Math.max(...writes) };
  },

  leave() {
    for (const client of clients) client.close();
    begin();
  },
});
