/**
 * One delivery, with a time that tests set: what it sends in which order, what it writes before, and
 * when it gives up. The store is real; the changes and the receiver are lists.
 */

import {
  type ChangeBatch,
  type ChangeReader,
  ChangesGone,
  type FeedLine,
} from "@bigpeer/engine/changes";
import { MemoryKeyValue, Store } from "@bigpeer/engine/store";
import { nodePlatform } from "@bigpeer/node";
import { expect, onTestFinished, test, vi } from "vitest";
import { Delivery, type DeliveryEvent } from "../../src/delivery/delivery.ts";
import { DeliveryJournal } from "../../src/delivery/delivery-journal.ts";
import type { Message, Sender, SendOutcome } from "../../src/delivery/sender.ts";
import type { Destination } from "../../src/registry/destination.ts";

const HISTORY = "h1";

/** How long a read waits when everything is written. */
const LONG_MS = 30_000;
/** How long it pauses after a fault of the server. */
const FAULT_MS = 5_000;

const DELIVERED: SendOutcome = { kind: "delivered" };
const FAILED: SendOutcome = { kind: "failed", message: "no answer" };

/** A log of changes, each in a transaction of its own, and readers of it. */
class ListedChanges {
  readonly #lines: FeedLine[] = [];
  readonly #waiting = new Set<() => void>();

  add(id: number, type: "insert" | "delete" = "insert"): void {
    const txnId = this.#lines.length + 1;
    const at = "2026-01-31T12:00:00.000Z";
    const change = { type, collection: "orders", id, txnId, at, by: null };
    const cursor = `${HISTORY}.${txnId}`;
    this.#lines.push({ cursor, change, txnId, json: JSON.stringify(change) });
    for (const wake of this.#waiting) wake();
  }

  open(since: string | undefined): ChangeReader {
    const [history, position = "0"] = (since ?? "0").split(".");
    if (history !== HISTORY && history !== "0") throw new ChangesGone("history", `${HISTORY}.0`);
    const [lines, waiting] = [this.#lines, this.#waiting];
    let next = Number(position);
    let isClosed = false;
    let wakeUp = (): void => {};
    return {
      get cursor() {
        return `${HISTORY}.${next}`;
      },
      isInitial: false,
      async next(): Promise<ChangeBatch> {
        if (lines.length === next && !isClosed) {
          await new Promise<void>((resolve) => {
            wakeUp = resolve;
            waiting.add(resolve);
          });
          waiting.delete(wakeUp);
        }
        const given = lines.slice(next);
        next += given.length;
        return { lines: given, cursor: `${HISTORY}.${next}`, isCurrent: true };
      },
      lag: () => ({ transactions: lines.length - next, ms: 0 }),
      hasPermissionsOf: () => true,
      setAuthority: () => {},
      undo: () => {},
      wake: () => wakeUp(),
      close: () => {
        isClosed = true;
        wakeUp();
      },
    };
  }
}

interface Rig {
  readonly changes: ListedChanges;
  readonly journal: DeliveryJournal;
  /** Ids of the changes in each message, in the order of sending. */
  readonly sent: { readonly id: string; readonly ids: readonly number[] }[];
  readonly waits: number[];
  readonly events: DeliveryEvent[];
  answers: (message: Message, signal: AbortSignal) => SendOutcome | Promise<SendOutcome>;
  /** The payload of a text; may throw. */
  compose: (text: string) => string;
  /** The pause after a fault. */
  faultPause: () => Promise<void>;
  start(changes?: Partial<Destination>): Delivery;
}

async function rig(): Promise<Rig> {
  const store = await Store.open(new MemoryKeyValue(), nodePlatform);
  onTestFinished(() => store.close());
  const changes = new ListedChanges();
  const made: Rig = {
    changes,
    journal: new DeliveryJournal(store),
    sent: [],
    waits: [],
    events: [],
    answers: () => DELIVERED,
    compose: (text) => text,
    faultPause: async () => {},
    start: (given) => {
      const delivery = new Delivery({
        destination: { ...ORDERS, ...given },
        open: ({ since }) => changes.open(since),
        journal: made.journal,
        sender: senderOf(made),
        host: {
          now: () => 1_000_000,
          sleep: (ms, signal) => slept(made, ms, signal),
          chance: () => 0.5,
          attemptsMax: 3,
          report: (event) => made.events.push(event),
        },
      });
      onTestFinished(() => delivery.stop());
      return delivery;
    },
  };
  return made;
}

/** A wait for changes is as long as nothing happens; all others are over at once. */
async function slept(made: Rig, ms: number, signal: AbortSignal): Promise<void> {
  if (ms === LONG_MS) {
    await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
  } else if (ms === FAULT_MS) {
    await made.faultPause();
  } else {
    await new Promise(setImmediate);
    made.waits.push(ms);
  }
}

const ORDERS: Destination = {
  id: "w1",
  appId: "a1",
  name: "orders",
  collection: "orders",
  isPaused: false,
  start: { id: "s1", cursor: `${HISTORY}.0` },
};

function senderOf(made: Rig): Sender {
  return {
    compose: (lines) => made.compose(JSON.stringify(lines.map(({ change }) => change.id))),
    send: async (message, signal) => {
      made.sent.push({ id: message.id, ids: JSON.parse(message.payload) as number[] });
      return made.answers(message, signal);
    },
    close: async () => {},
  };
}

function idsOf({ sent }: Rig): number[][] {
  return sent.map(({ ids }) => [...ids]);
}

test("[M43] changes that wait together are one delivery, and others follow in order", async () => {
  const made = await rig();
  for (const id of [1, 2, 3]) made.changes.add(id);
  const delivery = made.start();
  await vi.waitFor(() => expect(delivery.progress.state).toBe("live"));
  made.changes.add(4);
  await vi.waitFor(() => expect(idsOf(made)).toEqual([[1, 2, 3], [4]]));
  await vi.waitFor(() => expect(delivery.progress.state).toBe("live"));
  expect(made.journal.record("w1")).toEqual({ start: "s1", cursor: `${HISTORY}.4` });
  expect(delivery.totals).toMatchObject({ changes: 4, deliveries: 2, failures: 0 });
});

test("[M43] a delivery has at most 100 changes", async () => {
  const made = await rig();
  for (let id = 0; id < 250; id++) made.changes.add(id);
  made.start();
  await vi.waitFor(() => expect(idsOf(made).map(({ length }) => length)).toEqual([100, 100, 50]));
  expect(idsOf(made).flat()).toEqual(Array.from({ length: 250 }, (_, id) => id));
});

test("[M43] only wanted events are sent, and the position passes the others", async () => {
  const made = await rig();
  made.changes.add(1);
  made.changes.add(2, "delete");
  made.changes.add(3);
  const delivery = made.start({ events: ["delete"] });
  await vi.waitFor(() => expect(delivery.progress.state).toBe("live"));
  expect(idsOf(made)).toEqual([[2]]);
  expect(delivery.progress.cursor).toBe(`${HISTORY}.3`);
});

test("[M43] failures wait longer each time, and repeat the same message", async () => {
  const made = await rig();
  made.answers = () => (made.sent.length < 3 ? FAILED : DELIVERED);
  made.changes.add(1);
  const delivery = made.start();
  await vi.waitFor(() => expect(delivery.progress.state).toBe("live"));
  expect(made.waits.slice(0, 2)).toEqual([1_000, 2_000]);
  expect(idsOf(made)).toEqual([[1], [1], [1]]);
  expect(new Set(made.sent.map(({ id }) => id)).size).toBe(1);
  expect(made.events.map(({ kind }) => kind)).toEqual(["failed", "failed", "recovered"]);
});

test("[K98] [M44] a batch that was being sent at a crash is sent again as the same batch", async () => {
  const made = await rig();
  made.changes.add(1);
  made.changes.add(2);
  made.answers = (_, signal) => {
    return new Promise((resolve) => signal.addEventListener("abort", () => resolve(FAILED)));
  };
  const crashed = made.start();
  await vi.waitFor(() => expect(made.sent).toHaveLength(1));
  expect(crashed.progress.state).toBe("delivering");
  // The next process finds more changes than were there at the first attempt.
  made.changes.add(3);
  made.answers = () => DELIVERED;
  made.start();
  await vi.waitFor(() => expect(idsOf(made)).toEqual([[1, 2], [1, 2], [3]]));
  expect(made.sent[0]?.id).toBe(made.sent[1]?.id);
  expect(made.sent[2]?.id).not.toBe(made.sent[1]?.id);
});

test("[M44] another filter forms another batch", async () => {
  const made = await rig();
  made.changes.add(1);
  made.changes.add(2, "delete");
  await made.journal.write("w1", {
    start: "s1",
    cursor: `${HISTORY}.0`,
    sending: { to: `${HISTORY}.1`, of: "another filter" },
  });
  made.start({ events: ["delete"] });
  await vi.waitFor(() => expect(idsOf(made)).toEqual([[2]]));
});

test("[M45] what fails too often becomes a dead letter, and the next changes go on", async () => {
  const made = await rig();
  made.answers = ({ payload }) => (payload === "[1]" ? FAILED : DELIVERED);
  made.changes.add(1);
  const delivery = made.start();
  await vi.waitFor(() => expect(made.journal.letterCount("w1")).toBe(1));
  made.changes.add(2);
  await vi.waitFor(() => expect(idsOf(made)).toEqual([[1], [1], [1], [2]]));
  const [letterId = ""] = made.journal.letterIds("w1");
  expect(made.journal.letter("w1", letterId)).toEqual({
    id: "000000000001",
    atMs: 1_000_000,
    attempts: 3,
    error: "no answer",
    messageId: made.sent[0]?.id,
    payload: "[1]",
    changes: 1,
  });
  expect(delivery.totals).toMatchObject({ changes: 1, deadLetters: 1 });
});

test("[M45] with too many dead letters the delivery stops, and loses nothing", async () => {
  const made = await rig();
  const { journal } = made;
  const letter = { atMs: 0, attempts: 1, error: "", messageId: "", payload: "", changes: 1 };
  const record = { start: "s1", cursor: `${HISTORY}.0` };
  expect(await journal.bury("w1", record, letter, 1)).toBe(true);
  expect(await journal.bury("w1", record, letter, 1)).toBe(false);
  vi.spyOn(journal, "bury").mockResolvedValue(false);
  made.answers = () => FAILED;
  made.changes.add(1);
  const delivery = made.start();
  await vi.waitFor(() => expect(delivery.isEnded).toBe(true));
  expect(delivery.stopped).toMatchObject({ reason: "dead_letters_full" });
  expect(journal.record("w1")).toMatchObject({ cursor: `${HISTORY}.0` });
});

test("[M46] a receiver that is gone stops the delivery until it is resumed", async () => {
  const made = await rig();
  made.answers = () => ({ kind: "gone", message: "expected a status of 200 to 299, found 410" });
  made.changes.add(1);
  const delivery = made.start();
  await vi.waitFor(() => expect(delivery.isEnded).toBe(true));
  expect(made.journal.record("w1")).toMatchObject({ stopped: { reason: "gone", atMs: 1_000_000 } });
  const same = made.start();
  await vi.waitFor(() => expect(same.isEnded).toBe(true));
  expect(made.sent).toHaveLength(1);
  made.answers = () => DELIVERED;
  made.changes.add(2);
  made.start({ start: { id: "s2" } });
  await vi.waitFor(() => expect(idsOf(made)).toEqual([[1], [1], [2]]));
});

test("[M46] a position of another history pauses as history_changed", async () => {
  const made = await rig();
  made.changes.add(1);
  const delivery = made.start({ start: { id: "s1", cursor: "h0.7" } });
  await vi.waitFor(() => expect(delivery.isEnded).toBe(true));
  expect(delivery.stopped).toEqual({ reason: "history_changed", atMs: 1_000_000 });
  made.start({ start: { id: "s2", cursor: "0" } });
  await vi.waitFor(() => expect(idsOf(made)).toEqual([[1]]));
});

test("[M46] a fault of the server is a failure in the status, with the time of the next attempt", async () => {
  const made = await rig();
  made.changes.add(1);
  let isFaulty = true;
  let goOn = (): void => {};
  made.compose = (text) => {
    if (isFaulty) throw new Error("no payload");
    return text;
  };
  made.faultPause = () => new Promise<void>((resolve) => (goOn = resolve));
  const delivery = made.start();
  await vi.waitFor(() => expect(delivery.progress.state).toBe("retrying"));
  expect(delivery.progress).toMatchObject({
    nextMs: 1_005_000,
    lastError: { message: "no payload", status: undefined, atMs: 1_000_000 },
  });
  isFaulty = false;
  goOn();
  await vi.waitFor(() => expect(delivery.progress.state).toBe("live"));
  expect(delivery.progress.nextMs).toBeUndefined();
  expect(idsOf(made)).toEqual([[1]]);
  expect(made.events.map(({ kind }) => kind)).toEqual(["fault"]);
});

test("[M44] changes for others do not write the position each time", async () => {
  const made = await rig();
  const write = vi.spyOn(made.journal, "write");
  const delivery = made.start({ events: ["delete"] });
  for (let id = 0; id < 20; id++) made.changes.add(id);
  await vi.waitFor(() => expect(delivery.progress.cursor).toBe(`${HISTORY}.20`));
  expect(write).not.toHaveBeenCalled();
});
