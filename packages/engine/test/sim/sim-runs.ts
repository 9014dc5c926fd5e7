/**
 * Runs of statements on the peers of a simulated server, and what must come of each: one answer for
 * each session that was asked, made by that peer for that run, or an error that is true.
 */

import type { RunEnd, Value } from "@bigpeer/protocol";
import type { HostedConnection } from "../../src/sync/connection/connection-host.ts";
import type { PeerAnswer, RemoteRun, RunningRemote } from "../../src/sync/device/remote-runs.ts";
import { valueText } from "../support/dump.ts";
import type { Life } from "./sim-node.ts";
import { randomWish, TALLY_WISH, type Wish } from "./sim-rules.ts";
import type { SimServer } from "./sim-server.ts";
import type { World } from "./world.ts";

interface Bounds {
  readonly ms: number;
  readonly rows: number;
  readonly bytes: number;
  readonly allBytes: number;
}

/** A run that has not been answered. */
interface OpenRun {
  readonly number: number;
  /** Where it was started. */
  readonly machine: SimServer;
  readonly sessions: readonly number[];
  readonly bounds: Bounds;
  readonly running: RunningRemote;
  readonly life: Life;
  /** Who speaks in each session; undefined for a number that is none. */
  readonly peers: ReadonlyMap<number, string | undefined>;
  /** Sessions on whose way too much was waiting. */
  readonly full: ReadonlySet<number>;
  /** Nobody waits any more. */
  isEnded: boolean;
}

/** Enough for everything that runs write, and for those who do not read for a while. */
const GENEROUS: Bounds = { ms: 60_000, rows: 1000, bytes: 1_000_000, allBytes: 10_000_000 };

/** As many as a peer runs at a time (S44): none of them may find something left behind. */
const LAST_RUNS = 16;

/** What is sent in peace comes within this time, and longer than the other nobody leaves it unread. */
const HEARD_MS = 2000;
const STALL_MS_MAX = 30_000;

const LOST = "the peer left before it answered";
const LATE = "the peer did not answer in time";
const CANCELLED = "the caller does not wait for the answer any more";
const FULL = "too much waits on the way to the peer: it was not asked";
const ALL_TOO_LARGE = "the answers of all peers together are too large";
const PEER_BUSY = `expected at most ${LAST_RUNS} statements at a time`;

export class SimRuns {
  readonly #world: World;
  readonly #wishes = new Map<number, Wish>();
  readonly #open = new Set<OpenRun>();
  #last = 0;

  constructor(world: World) {
    this.#world = world;
  }

  wishOf(number: number): Wish {
    return this.#wishes.get(number) ?? TALLY_WISH;
  }

  /** Some who are listed, now and then with one who is gone, or twice. */
  randomSessions(machine: SimServer): number[] {
    const { random } = this.#world.scheduler;
    const known = sessionsOf(machine);
    const isChosen = random.pick([0.3, 1]);
    const chosen = known.filter(() => random.chance(isChosen));
    if (random.chance(0.1)) chosen.push(1 + random.below(60));
    if (random.chance(0.05)) chosen.push(...chosen.slice(0, 1));
    return chosen;
  }

  randomBounds(): Bounds {
    const { random } = this.#world.scheduler;
    return {
      ms: 5 + random.below(random.pick([100, 1500, 8000])),
      rows: random.pick([1, 4, 1000, 1000]),
      bytes: random.pick([300, 1_000_000, 1_000_000]),
      allBytes: random.pick([2000, 10_000_000, 10_000_000]),
    };
  }

  /** Whoever asks waits for a time, or goes away before. */
  start(machine: SimServer, sessions: readonly number[], bounds: Bounds): OpenRun | undefined {
    const { scheduler } = this.#world;
    const { sync, node } = machine;
    if (sync === undefined) return undefined;
    const { random } = scheduler;
    const number = ++this.#last;
    const wish = random.chance(0.3) ? TALLY_WISH : randomWish(random);
    this.#wishes.set(number, wish);
    const run: RemoteRun = {
      statement: wish.query,
      args: { ...wish.args, run: number },
      ...bounds,
    };
    node.note(`has run ${number} on ${sessions.join(" ")}: ${wish.query}`);
    const peers = new Map(
      sessions.map((session) => [session, connectionOf(machine, session)?.dialler]),
    );
    const full = new Set(sessions.filter((session) => isFull(machine, session)));
    const running = sync.run(sessions, run);
    const open: OpenRun = {
      number,
      machine,
      sessions,
      bounds,
      running,
      life: node.life,
      peers,
      full,
      isEnded: false,
    };
    this.#open.add(open);
    this.#world.count("run");
    void running.done.then((answers) => this.#done(open, answers));
    const isGivenUp = bounds !== GENEROUS && random.chance(0.15);
    const endMs = isGivenUp ? random.below(bounds.ms) : bounds.ms + random.pick([0, 0, 50, 1000]);
    node.life.after(endMs, () => this.#end(open, isGivenUp ? "cancel" : "expire"));
    return open;
  }

  /** In peace: everyone who is there answers as often as a peer can at a time. */
  async startLast(): Promise<void> {
    const { scheduler, peers, server } = this.#world;
    for (const open of this.#open) if (!open.life.isAlive) this.#open.delete(open);
    await scheduler.runUntil(() => this.#open.size === 0, scheduler.now + 20_000);
    // Who is told to stop hears it a while later, and later still if it did not read (seed 17001795).
    await scheduler.runFor(HEARD_MS);
    if (!this.#isAllHeard()) {
      await scheduler.runUntil(() => this.#isAllHeard(), scheduler.now + STALL_MS_MAX);
      await scheduler.runFor(HEARD_MS);
    }
    this.#checkNothingLeft();
    for (const { device } of peers) device.isPrompt = true;
    const answers: (readonly PeerAnswer[])[] = [];
    for (const machine of server.machines) {
      const sessions = sessionsOf(machine);
      for (let i = 0; i < LAST_RUNS; i++) {
        const open = this.start(machine, sessions, GENEROUS);
        void open?.running.done.then((given) => answers.push(given));
      }
    }
    await scheduler.runUntil(() => this.#open.size === 0, scheduler.now + 80_000);
    // Where queues are small, so many statements fill them; and a token may end.
    const excused = [FULL, LOST];
    const bad = answers
      .flat()
      .find(({ error }) => error !== undefined && !excused.includes(error.message))?.error;
    if (bad !== undefined) this.#fail("in peace every peer answers", JSON.stringify(bad));
    this.#checkNothingLeft();
  }

  /** Whether nothing is on its way to a peer. */
  #isAllHeard(): boolean {
    const connections = [...this.#world.network.connections];
    return connections.every(({ down }) => down.isIdle || down.isBroken);
  }

  /** Nothing of a run outlives it, on either side. */
  #checkNothingLeft(): void {
    const { peers, server } = this.#world;
    const left = this.#awaited();
    if (this.#open.size > 0) return this.#fail("every run ends", `${this.#open.size} are open`);
    if (left > 0) this.#fail("[S46] nothing of a run is left in the server", `${left} awaited`);
    for (const { device, name } of peers) {
      if (device.activeCount === 0) continue;
      this.#fail("[S46] nothing of a run is left on a peer", `${name}: ${device.activeCount}`);
    }
    for (const { sync } of server.machines) {
      const { asked, answered, failed } = sync?.stats().remoteRuns ?? NO_STATS;
      if (asked === answered + failed) continue;
      this.#fail("every peer that was asked is counted", `${asked}, ${answered} and ${failed}`);
    }
  }

  #end(open: OpenRun, how: "cancel" | "expire"): void {
    if (!this.#open.has(open)) return;
    open.machine.note(`ends run ${open.number}: ${how}`);
    open.isEnded = true;
    open.running[how]();
    open.life.after(0, () => {
      if (this.#open.has(open)) this.#fail("[S46] a run ends with its time", `${open.number}`);
    });
  }

  #done(open: OpenRun, answers: readonly PeerAnswer[]): void {
    this.#open.delete(open);
    if (!open.life.isAlive) return;
    const { number, sessions } = open;
    const found = answers.map(({ session }) => session);
    open.machine.note(`run ${number} is answered`);
    if (found.join() !== sessions.join()) {
      const detail = `run ${number}: ${found.join()}, asked were ${sessions.join()}`;
      this.#fail("[S44] each session has one answer", detail);
    }
    for (const answer of answers) this.#check(open, answer);
    const most = [...this.#open].reduce((sum, { peers }) => sum + peers.size, 0);
    const awaited = this.#awaited();
    if (awaited > most) {
      this.#fail("[S46] nothing of a run is left in the server", `${awaited} of at most ${most}`);
    }
  }

  #check(open: OpenRun, answer: PeerAnswer): void {
    const { number, peers } = open;
    const name = peers.get(answer.session);
    const peer = this.#world.peers.find((each) => each.name === name);
    const statement = peer?.device.statements.get(number);
    this.#world.count(`answer ${answer.error?.code ?? "good"}`);
    const key = answer.report?.description.key;
    if (key !== undefined && key !== peer?.device.key) {
      this.#fail("an answer is of the peer that was asked", `run ${number} on ${name}: ${key}`);
    }
    const said = statement?.end && textOf(statement, statement.end);
    const found = textOf(answer, answer);
    if (found === said) return;
    const reason = answer.error === undefined ? "nobody said so" : this.#isFalse(open, answer);
    if (reason === undefined) return;
    const detail = `run ${number} on ${name}: ${found}; ${reason}; it said ${said}`;
    this.#fail("an answer is what the peer said to this run", detail);
  }

  /** Why an error that the server found is none; undefined when it is one. */
  #isFalse(open: OpenRun, { session, error, items }: PeerAnswer): string | undefined {
    if (items.length > 0) return "it has rows";
    switch (error?.message) {
      case LOST: {
        // A number that was none then may be that of a session by now.
        const wasThere = open.peers.get(session) !== undefined;
        const isThere = open.machine.sync?.peer(session) !== undefined;
        return wasThere && isThere ? "it is still there" : undefined;
      }
      case LATE:
      case CANCELLED:
        return open.isEnded ? undefined : "somebody waits for it";
      case FULL:
        return open.full.has(session) ? undefined : "there was room";
      case ALL_TOO_LARGE:
        return open.bounds.allBytes < GENEROUS.allBytes ? undefined : "there was room for all";
      case PEER_BUSY:
        return this.#last >= LAST_RUNS ? undefined : "there were not so many";
      default:
        return "it is none of the server's";
    }
  }

  /** What all sessions wait for. */
  #awaited(): number {
    let sum = 0;
    for (const { connection } of this.#world.server.sessions) {
      sum += (connection as HostedConnection).explained()?.state.runs.size ?? 0;
    }
    return sum;
  }

  #fail(invariant: string, detail: string): void {
    this.#world.scheduler.fail(invariant, detail);
  }
}

function sessionsOf({ sync }: SimServer): number[] {
  return sync?.peers().map(({ session }) => session) ?? [];
}

function connectionOf(
  { sessions }: SimServer,
  session: number,
): { readonly hosted: HostedConnection; readonly dialler: string } | undefined {
  for (const { connection, dialler } of sessions) {
    const hosted = connection as HostedConnection;
    if (hosted.session === session) return { hosted, dialler };
  }
  return undefined;
}

function isFull(machine: SimServer, session: number): boolean {
  const { queueBytes = Number.POSITIVE_INFINITY } = machine.limits;
  return (connectionOf(machine, session)?.hosted.queuedBytes ?? 0) > queueBytes;
}

const NO_STATS = { asked: 0, answered: 0, failed: 0 };

/** What a peer said, or is told to have said. Of what went wrong there are no rows. */
function textOf({ items }: { readonly items: readonly Value[] }, end: RunEnd): string {
  const { elapsedMs, warnings, totalWarnings, error } = end;
  const rows = error === undefined ? valueText([...items]) : "no rows";
  return `${rows} ${JSON.stringify([elapsedMs, warnings, totalWarnings, error ?? null])}`;
}
