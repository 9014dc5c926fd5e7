/**
 * The full table of the peer's machine: every phase with every event; and every wait of the uploads,
 * every number of runs and every state of the presence with every event that can move it. A cell
 * that is missing is a failure, not a default.
 */

import type { ServerMessage } from "@bigpeer/protocol";
import { expect, test } from "vitest";
import { presenceOf } from "../../src/peer/peer-presence.ts";
import type { PhaseName } from "../../src/peer/session-state.ts";
import {
  FILTER,
  OTHER_FILTER,
  OTHER_SITE,
  otherPeer,
  RIGHTS,
  RUN,
  type ScriptEvent,
  SessionScript,
  SITE,
  summary,
  upload,
  WALL,
  WELCOME,
} from "../support/peer-session-script.ts";
import {
  PHASE_TABLE,
  type PhaseColumns,
  PRESENCE_TABLE,
  RUN_TABLE,
  UPLOAD_TABLE,
} from "../support/peer-session-table.ts";

/** A session in each phase; where there can be one, with a live subscription `tasks`. */
const PHASES: { readonly [Name in PhaseName]: () => SessionScript } = {
  stopped: () => subscribed(new SessionScript()),
  waiting: () => {
    const script = subscribed(new SessionScript());
    script.take({ kind: "start" });
    script.take({ kind: "disconnected", message: "refused" });
    return script;
  },
  connecting: () => {
    const script = subscribed(new SessionScript());
    script.take({ kind: "start" });
    return script;
  },
  greeting: () => subscribed(new SessionScript()).greet(),
  settling: () => {
    const script = subscribed(new SessionScript()).greet();
    script.hear(WELCOME);
    return script;
  },
  open: () => new SessionScript().idle().followLive("tasks", 1, FILTER),
};

function subscribed(script: SessionScript): SessionScript {
  script.take({ kind: "subscribe", key: "tasks", query: "SELECT * FROM tasks", args: {} });
  return script;
}

const OUTCOME = {
  site: SITE,
  number: 1,
  kind: "applied",
  txn: 101,
  reason: "",
  documents: [],
} as const;

const MESSAGES: { readonly [Kind in ServerMessage["t"]]: Extract<ServerMessage, { t: Kind }> } = {
  welcome: WELCOME,
  subscribed: {
    t: "subscribed",
    id: 1,
    filter: OTHER_FILTER,
    collection: "tasks",
    mode: "compare",
  },
  unsubscribed: { t: "unsubscribed", id: 1, code: "permission.denied", message: "no" },
  documents: { t: "documents", filter: FILTER, entries: [["drop", 1]], committed: 101 },
  versions: { t: "versions", filter: FILTER, list: [[1, 1]], range: {} },
  complete: { t: "complete", filter: FILTER, txn: 100 },
  behind: { t: "behind", filters: [FILTER] },
  committed: { t: "committed", txn: 101, outcomes: [OUTCOME] },
  forked: { t: "forked", site: SITE, number: 1 },
  site: { t: "site", site: OTHER_SITE, known: 0 },
  rights: { t: "rights", rights: RIGHTS },
  presence: { t: "presence", isWhole: true, total: 1, peers: [otherPeer(7)], gone: [] },
  run: RUN,
  cancel: { t: "cancel", id: 1 },
  ping: { t: "ping", now: WALL, txn: 101 },
  pong: { t: "pong", ping: WALL, now: WALL },
  bye: { t: "bye", code: "closing", message: "later" },
};

type PlainKind = Exclude<ScriptEvent["kind"], "message" | "tick">;

const EVENTS: { readonly [Kind in PlainKind]: Extract<ScriptEvent, { kind: Kind }> } = {
  start: { kind: "start" },
  stop: { kind: "stop" },
  subscribe: { kind: "subscribe", key: "notes", query: "SELECT * FROM notes", args: {} },
  unsubscribe: { kind: "unsubscribe", key: "tasks" },
  pending: { kind: "pending" },
  token: { kind: "token", token: "new" },
  metadata: { kind: "metadata", metadata: { room: 1 } },
  watch: { kind: "watch", isOn: true },
  unrenewed: { kind: "unrenewed" },
  answered: { kind: "answered", id: 1, items: [1] },
  opened: { kind: "opened", token: "secret", site: SITE },
  garbled: { kind: "garbled", message: "expected more bytes" },
  disconnected: { kind: "disconnected", message: "reset" },
  failed: { kind: "failed", error: "no room" },
  welcomed: { kind: "welcomed", cursors: new Map() },
  applied: {
    kind: "applied",
    batch: { committed: 101 },
    wants: [{ subscription: "tasks", ids: [1] }],
  },
  compared: { kind: "compared", filter: FILTER, ids: [1], isLast: true },
  sequenced: { kind: "sequenced", uploads: [upload(1)], isAll: true },
  reoffered: { kind: "reoffered" },
  forked: { kind: "forked" },
};

/** What an event does in a phase: the phase after it, and what it asks for. */
function play(script: SessionScript, event: ScriptEvent, ms: number): string {
  script.wait(ms);
  const before = script.phase;
  const actions = summary(script.take(event));
  const isSame = script.phase === before;
  if (actions === "") return isSame ? "nothing" : script.phase;
  return `${script.phase}: ${actions}`;
}

/** Every event by its name in the table, and the milliseconds that pass before it. */
const ALL: readonly (readonly [name: string, event: ScriptEvent, ms: number])[] = [
  ...Object.entries(EVENTS).map(([name, event]) => [name, event, 0] as const),
  ["tick too early", { kind: "tick", isReading: true }, 1],
  ["tick after 30 s", { kind: "tick", isReading: true }, 30_000],
  ["tick after 60 s", { kind: "tick", isReading: true }, 60_000],
  ["tick after 60 s without reading", { kind: "tick", isReading: false }, 60_000],
  ...Object.entries(MESSAGES).map(
    ([name, message]) => [`message ${name}`, { kind: "message", message, bytes: 10 }, 0] as const,
  ),
];

const PHASE_NAMES = Object.keys(PHASES) as (keyof PhaseColumns)[];

test("the table has a row for every event, and no other rows", () => {
  expect(Object.keys(PHASE_TABLE).sort()).toEqual(ALL.map(([name]) => name).sort());
});

test.each(ALL)("every phase handles: %s", (name, event, ms) => {
  const row = Object.fromEntries(
    PHASE_NAMES.map((phase) => [phase, play(PHASES[phase](), event, ms)]),
  );
  expect(row).toEqual(PHASE_TABLE[name]);
});

/** Those that the machine has no connection for, and a failure, which is reported whenever it was. */
const OF_ANY_CONNECTION = [
  "start",
  "stop",
  "subscribe",
  "unsubscribe",
  "pending",
  "token",
  "metadata",
  "watch",
  "failed",
];

test.each(ALL.filter(([, { kind }]) => kind !== "tick" && !OF_ANY_CONNECTION.includes(kind)))(
  "an event of a former connection changes nothing: %s",
  (_, event) => {
    for (const phase of PHASE_NAMES) {
      const script = PHASES[phase]();
      const before = script.state;
      expect(script.take(event, script.state.connection - 1), phase).toEqual([]);
      expect(script.state).toBe(before);
    }
  },
);

const UPLOAD_WAITS: { readonly [wait: string]: () => SessionScript } = {
  nothing: () => {
    const script = new SessionScript().open();
    script.take({ kind: "sequenced", uploads: [upload(1)], isAll: true });
    return script;
  },
  sequencing: () => new SessionScript().open(),
  site: () => {
    const script = new SessionScript().open();
    script.take({ kind: "sequenced", uploads: [upload(1, OTHER_SITE)], isAll: true });
    return script;
  },
  reoffering: () => {
    const script = new SessionScript().greet();
    script.hear(WELCOME);
    script.take({ kind: "welcomed", cursors: new Map() });
    return script;
  },
  forking: () => {
    const script = new SessionScript().open();
    script.take({ kind: "sequenced", uploads: [upload(1)], isAll: true });
    script.hear({ t: "forked", site: SITE, number: 1 });
    return script;
  },
};

const UPLOAD_EVENTS = ALL.filter(([name]) =>
  [
    "pending",
    "sequenced",
    "reoffered",
    "forked",
    "message forked",
    "message site",
    "message committed",
  ].includes(name),
);

test.each(UPLOAD_EVENTS)("every wait state of the uploads handles: %s", (name, event) => {
  const row = Object.fromEntries(
    Object.entries(UPLOAD_WAITS).map(([wait, make]) => {
      const script = make();
      const { phase } = script.state;
      expect("link" in phase && phase.link.uploads.wait).toBe(wait);
      const played = play(script, event, 0);
      const { phase: after } = script.state;
      const next = "link" in after ? after.link.uploads.wait : after.name;
      return [wait, `${next} <- ${played}`];
    }),
  );
  expect(row).toEqual(UPLOAD_TABLE[name]);
});

test("the upload table has a row for every event that affects uploads", () => {
  expect(Object.keys(UPLOAD_TABLE).sort()).toEqual(UPLOAD_EVENTS.map(([name]) => name).sort());
});

/** A session with no run, with the first, and with as many as there may be. */
const RUN_COUNTS: { readonly [count: string]: () => SessionScript } = {
  none: () => new SessionScript().idle(),
  one: () => withRuns(1),
  full: () => withRuns(16),
};

function withRuns(count: number): SessionScript {
  const script = new SessionScript().idle();
  for (let id = 1; id <= count; id++) script.hear({ ...RUN, id });
  return script;
}

const RUN_END = { elapsedMs: 1, warnings: [], totalWarnings: 0 } as const;

const RUN_EVENTS: readonly (readonly [name: string, event: ScriptEvent])[] = [
  ["message run", { kind: "message", message: RUN, bytes: 10 }],
  ["message run of another number", { kind: "message", message: { ...RUN, id: 99 }, bytes: 10 }],
  ["message cancel", { kind: "message", message: { t: "cancel", id: 1 }, bytes: 10 }],
  ["answered", { kind: "answered", id: 1, items: [1] }],
  ["answered to the end", { kind: "answered", id: 1, items: [], end: RUN_END }],
  ["stop", { kind: "stop" }],
  ["disconnected", { kind: "disconnected", message: "reset" }],
  ["failed", { kind: "failed", error: "no room" }],
];

test.each(RUN_EVENTS)("every number of runs handles: %s", (name, event) => {
  const row = Object.fromEntries(
    Object.entries(RUN_COUNTS).map(([count, make]) => {
      const script = make();
      const played = play(script, event, 0).replace(/(cancel, ){16}/, "cancel all, ");
      const { phase } = script.state;
      return [count, `${"link" in phase ? phase.link.runs.size : 0} <- ${played}`];
    }),
  );
  expect(row).toEqual(RUN_TABLE[name]);
});

test("the table of runs has a row for every event that affects runs", () => {
  expect(Object.keys(RUN_TABLE).sort()).toEqual(RUN_EVENTS.map(([name]) => name).sort());
});

/** A session that nobody watches the others of, one that has asked, and one that was told of one. */
const WATCHES: { readonly [watch: string]: () => SessionScript } = {
  unwatched: () => new SessionScript().idle(),
  asked: () => watching(new SessionScript()),
  reported: () => {
    const script = watching(new SessionScript());
    script.hear({ t: "presence", isWhole: true, total: 2, peers: [otherPeer(1)], gone: [] });
    return script;
  },
};

function watching(script: SessionScript): SessionScript {
  script.take({ kind: "watch", isOn: true });
  return script.idle();
}

const CHANGED = { t: "presence", total: 3, peers: [otherPeer(2)], gone: [1] } as const;

const PRESENCE_EVENTS: readonly (readonly [name: string, event: ScriptEvent])[] = [
  ["watch on", { kind: "watch", isOn: true }],
  ["watch off", { kind: "watch", isOn: false }],
  ["message presence", { kind: "message", message: CHANGED, bytes: 10 }],
  [
    "message presence, whole",
    { kind: "message", message: { ...CHANGED, isWhole: true }, bytes: 10 },
  ],
  ["stop", { kind: "stop" }],
  ["disconnected", { kind: "disconnected", message: "reset" }],
];

test.each(PRESENCE_EVENTS)("every presence state handles: %s", (name, event) => {
  const row = Object.fromEntries(
    Object.entries(WATCHES).map(([watch, make]) => {
      const script = make();
      const played = play(script, event, 0);
      const { isConnected, total, peers } = presenceOf(script.state);
      const known = `${total}: ${peers.map(({ session }) => session).join(" ")}`;
      return [watch, `${isConnected ? known : "offline"} <- ${played}`];
    }),
  );
  expect(row).toEqual(PRESENCE_TABLE[name]);
});

test("the presence table has a row for every event that affects presence", () => {
  expect(Object.keys(PRESENCE_TABLE).sort()).toEqual(PRESENCE_EVENTS.map(([name]) => name).sort());
});
