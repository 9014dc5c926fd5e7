/**
 * A session of a peer to play with: the machine, a clock that the test moves, and the events and
 * messages that the tests are made of.
 */

import {
  type PeerMessage,
  type PresentPeer,
  type RunMessage,
  type ServerMessage,
  SYNC_VERSION,
  type Welcome,
} from "@bigpeer/protocol";
import type { SequencedUpload } from "../../src/peer/peer-layers.ts";
import { peerState, peerStep } from "../../src/peer/peer-session.ts";
import type {
  PeerAction,
  PeerEvent,
  PeerState,
  PhaseName,
  SessionReport,
} from "../../src/peer/session-state.ts";

export const SITE = "00000000000000aa";
export const OTHER_SITE = "00000000000000bb";
export const FILTER: Uint8Array = new Uint8Array(16).fill(1);
export const OTHER_FILTER: Uint8Array = new Uint8Array(16).fill(2);
export const RIGHTS: Uint8Array = new Uint8Array(16).fill(9);
export const WALL = 1_800_000_000_000;

const DESCRIPTION = { key: "p1", deviceName: "d", os: "o", sdk: "s", metadata: {} };

export const WELCOME: Welcome = {
  t: "welcome",
  version: SYNC_VERSION,
  history: "h1",
  app: "app",
  txn: 100,
  now: WALL,
  known: 0,
  rights: RIGHTS,
  bounds: { messageBytes: 1_000_000, uploads: 64, subscriptions: 10 },
};

export const RUN: RunMessage = {
  t: "run",
  id: 1,
  statement: "SELECT * FROM tasks",
  args: {},
  ms: 1000,
  rows: 10,
  bytes: 1000,
};

export function otherPeer(session: number): PresentPeer {
  const key = `key ${session}`;
  return { session, key, deviceName: "d", os: "o", sdk: "s", metadata: {}, since: WALL };
}

export function upload(number: number, site: string = SITE): SequencedUpload {
  return { site, number, digest: new Uint8Array(32).fill(number), steps: [] };
}

/** Events without the connection that they belong to: the script knows it. */
type Loose<E> = E extends { readonly connection: number } ? Omit<E, "connection"> : E;
export type ScriptEvent = Loose<PeerEvent>;

export class SessionScript {
  state: PeerState;
  elapsed = 1000;
  wall: number = WALL;
  /** What the last event brought about. */
  actions: readonly PeerAction[] = [];

  constructor(state: PeerState = peerState("app", DESCRIPTION, 0)) {
    this.state = state;
  }

  get phase(): PhaseName {
    return this.state.phase.name;
  }

  take(event: ScriptEvent, connection: number = this.state.connection): readonly PeerAction[] {
    const now = { elapsed: this.elapsed, wall: this.wall };
    const step = peerStep(this.state, { connection, ...event } as PeerEvent, now);
    this.state = step.state;
    this.actions = step.actions;
    return step.actions;
  }

  hear(message: ServerMessage, bytes = 10): readonly PeerAction[] {
    return this.take({ kind: "message", message, bytes });
  }

  wait(ms: number): void {
    this.elapsed += ms;
    this.wall += ms;
  }

  tick(isReading = true): readonly PeerAction[] {
    return this.take({ kind: "tick", isReading });
  }

  get sent(): PeerMessage[] {
    return this.actions.flatMap((action) => (action.kind === "send" ? [action.message] : []));
  }

  get reports(): SessionReport[] {
    return this.actions.flatMap((action) => (action.kind === "report" ? [action.event] : []));
  }

  /** The actions of one kind. */
  of<K extends PeerAction["kind"]>(kind: K): Extract<PeerAction, { kind: K }>[] {
    return this.actions.filter(
      (action): action is Extract<PeerAction, { kind: K }> => action.kind === kind,
    );
  }

  /** Up to the point where hello was sent. */
  greet(): this {
    this.take({ kind: "start" });
    this.take({ kind: "opened", token: "secret", site: SITE });
    return this;
  }

  /** Up to the point where the store has taken the welcome in, and was asked for uploads. */
  open(welcome: Partial<Welcome> = {}): this {
    this.greet();
    this.hear({ ...WELCOME, ...welcome });
    this.take({ kind: "welcomed", cursors: new Map() });
    this.take({ kind: "reoffered" });
    return this;
  }

  /** As `open`, and nothing waits to be uploaded. */
  idle(welcome: Partial<Welcome> = {}): this {
    this.open(welcome);
    this.take({ kind: "sequenced", uploads: [], isAll: true });
    return this;
  }

  /** Subscribes, and lets the server say that it has taken it. */
  follow(key: string, id: number, filter: Uint8Array): this {
    this.take({ kind: "subscribe", key, query: `SELECT * FROM ${key}`, args: {} });
    this.hear({ t: "subscribed", id, filter, collection: key, mode: "fill" });
    return this;
  }

  followLive(key: string, id: number, filter: Uint8Array, txn = 100): this {
    this.follow(key, id, filter);
    this.hear({ t: "complete", filter, txn });
    return this;
  }
}

/** The kinds of actions, as a table shows them. */
export function summary(actions: readonly PeerAction[]): string {
  return actions
    .map((action) => {
      if (action.kind === "send") return `send ${action.message.t}`;
      if (action.kind === "pong") return "send pong";
      return action.kind === "report" ? `report ${action.event.kind}` : action.kind;
    })
    .join(", ");
}
