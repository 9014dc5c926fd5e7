/**
 * What a seed lets happen. Each run has its own weights, many of them nothing: a run in which all
 * happens hides what only some of it would show.
 */

import type { Site } from "@bigpeer/protocol";
import { DRIFT_MS_MAX } from "../../src/limits.ts";
import type { Random } from "../support/test-platform.ts";
import { DEVICE_KINDS } from "./device-events.ts";
import type { LocalWrite } from "./local-writes.ts";
import { copyOf } from "./sim-node.ts";
import type { SimPeer } from "./sim-peer.ts";
import { freshWish, randomWish, twinOf } from "./sim-rules.ts";
import { SimServer } from "./sim-server.ts";
import { randomServerStatement, randomStatement, type SimStatement } from "./sim-statements.ts";
import type { SimWorld } from "./sim-world.ts";
import type { World } from "./world.ts";

type Happening = (world: SimWorld, peer: SimPeer) => void;

export interface Kind {
  readonly name: string;
  readonly weight: number;
  readonly happen: Happening;
  /** It happens only to a server of one machine. */
  readonly isOfMachine?: true;
}

function ofMachine(
  happen: (world: SimWorld, server: SimServer) => void,
): Omit<Kind, "name" | "weight"> {
  return {
    isOfMachine: true,
    happen: (world) => {
      if (world.server instanceof SimServer) happen(world, world.server);
    },
  };
}

/** The site that a peer writes under, while it is up. */
function siteOf({ running }: SimPeer): Site[] {
  return running === undefined ? [] : [running.store.site];
}

export function writeAtPeer(world: World, peer: SimPeer): void {
  const { random } = world.scheduler;
  const count = random.chance(0.15) ? 2 + random.below(2) : 1;
  writeDrawn(world, peer, count, (tag) => randomStatement(random, tag));
}

/** Writes so many statements in one transaction; each has the tag in it. */
export function writeDrawn(
  world: World,
  peer: SimPeer,
  count: number,
  draw: (tag: string) => SimStatement,
): void {
  const { writes } = world;
  const tag = writes.nextTag(peer.name);
  const drawn = Array.from({ length: count }, () => draw(tag));
  const write: LocalWrite = {
    disks: new Set<object>([peer.node.disk]),
    maybes: new Set<object>(),
    sites: new Set(siteOf(peer)),
    counts: count === 1 ? drawn.flatMap(({ counts }) => counts ?? []) : [],
    state: "open",
    isTimed: writes.noteTime(peer.node.disk, peer.isClockKnown),
    copies: 1,
  };
  // Of a transaction it is known which statements write something, whatever becomes of it.
  const statements = drawn.map((statement) => {
    const { counts } = statement;
    const onDrafted = (isWriting: boolean): void => {
      if (isWriting && counts !== undefined) write.counts.push(counts);
    };
    return { ...statement, onDrafted };
  });
  const answer = peer.write(statements);
  if (answer === undefined) return;
  const isTagged = (i: number): boolean => JSON.stringify(drawn[i]?.args).includes(tag);
  if (drawn.some((_, i) => isTagged(i))) writes.add(tag, write);
  peer.node.note(`writes ${tag} ${JSON.stringify(drawn).slice(0, 300)}`);
  const { life } = peer.node;
  answer.then(
    (written) => {
      if (!life.isAlive) return;
      for (const site of siteOf(peer)) write.sites.add(site);
      // A write without a name in it cannot be found again.
      write.state = written.some((isWritten, i) => isWritten && isTagged(i)) ? "done" : "nothing";
      if (write.state === "done") world.count("local write");
      if (write.state === "done" && count > 1) world.count("local transaction");
      peer.node.note(`wrote ${tag} ${write.state}`);
    },
    (error: unknown) => {
      write.state = "nothing";
      peer.node.note(`did not write ${tag}: ${String(error).slice(0, 120)}`);
    },
  );
}

function writeAtServer(world: SimWorld): void {
  const { writes, scheduler, server, directSums } = world;
  const { random } = scheduler;
  const tag = writes.nextTag("server");
  const statement = randomServerStatement(random, tag);
  const credential = random.chance(0.3) ? random.pick(server.credentials) : undefined;
  server.note(
    `writes ${tag} ${statement.statement} ${JSON.stringify(statement.args).slice(0, 200)}`,
  );
  if (statement.counts !== undefined) directSums.set(tag, statement.counts);
  void server.write(statement, credential).then((isDone) => {
    if (isDone) world.count("direct write");
  });
}

function burstAtServer(world: SimWorld): void {
  for (let i = world.scheduler.random.below(8); i >= 0; i--) writeAtServer(world);
}

function burstAtPeer(world: SimWorld, peer: SimPeer): void {
  for (let i = world.scheduler.random.below(6); i >= 0; i--) writeAtPeer(world, peer);
}

function cut(world: SimWorld, peer: SimPeer): void {
  const { random } = world.scheduler;
  const [connection] = world.network.of(peer.name);
  connection?.cut(random.pick(["both", "both", "client", "server", "neither", "late", "late"]));
}

function partition(world: SimWorld, peer: SimPeer): void {
  const { network, scheduler } = world;
  network.partition(peer.name);
  world.later(scheduler.between(500, 100_000), () => network.heal(peer.name));
}

/** Nobody reads at the other side of what the server sends. */
function stall(world: SimWorld, peer: SimPeer): void {
  const { network, scheduler } = world;
  for (const { down } of network.of(peer.name)) {
    down.stall(scheduler.now + scheduler.between(200, 30_000));
  }
}

function slow(world: SimWorld, peer: SimPeer): void {
  const { random } = world.scheduler;
  for (const { up, down } of world.network.of(peer.name)) {
    up.rate = random.pick([400, 5]);
    down.rate = random.pick([400, 2, 0.5]);
  }
}

function crashAtWrite({ scheduler }: SimWorld, peer: SimPeer): void {
  peer.node.writesToCrash = scheduler.random.below(6);
}

function closePeer(world: SimWorld, peer: SimPeer): void {
  if (!peer.isUp) return;
  const delay = world.scheduler.between(20, 5000);
  world.run(
    peer.close().then(() => {
      world.later(delay, () => world.startPeer(peer));
    }),
  );
}

function closeServer(world: SimWorld, server: SimServer): void {
  const { scheduler } = world;
  if (!server.isUp) return;
  const delay = scheduler.between(20, 5000);
  world.run(
    server.stop().then(() => {
      world.later(delay, () => world.startMachine(server));
    }),
  );
}

function backUp(world: SimWorld, server: SimServer): void {
  if (!server.isUp) return;
  world.run(
    server.backup().then((backup) => {
      world.backup = backup;
    }),
  );
}

/** The server is lost, and what is left is a copy of an earlier time. */
function restoreServer(world: SimWorld, server: SimServer): void {
  const { backup, scheduler, network } = world;
  if (!server.isUp || backup === undefined) return;
  world.backup = undefined;
  server.crash();
  for (const connection of network.connections) {
    connection.cut(scheduler.random.chance(0.7) ? "client" : "neither");
  }
  world.run(
    server.restore(backup).then(() => {
      world.later(scheduler.between(20, 2000), () => world.startMachine(server));
    }),
  );
}

/** Both live on: with one site, until they are told. */
function clone(world: SimWorld, peer: SimPeer): void {
  if (world.peers.length > 8) return;
  const { writes, sent, scheduler } = world;
  const name = world.nextCopyName(peer);
  peer.node.note(`is copied as ${name}`);
  const copy = world.addPeer(name, peer.credential);
  if (scheduler.random.chance(0.5)) copy.device.key = peer.device.key;
  for (const wish of peer.wishes.values()) copy.follow(wish);
  for (const wish of peer.pastWishes.values()) copy.pastWishes.set(wish.key, wish);
  copy.hasEvicted = peer.hasEvicted;
  world.run(
    copyOf(peer.node.disk).then((disk) => {
      writes.copied(peer.node.disk, disk, sent);
      copy.putDisk(disk);
      copy.isCopyKnown = scheduler.random.chance(0.5);
      world.later(scheduler.between(0, 5000), () => world.startPeer(copy));
    }),
  );
}

const KEPT = new WeakMap<SimPeer, Awaited<ReturnType<typeof copyOf>>>();

function keepPeer(world: SimWorld, peer: SimPeer): void {
  world.run(
    copyOf(peer.node.disk).then((disk) => {
      peer.node.note("is kept");
      world.writes.copied(peer.node.disk, disk, world.sent);
      KEPT.set(peer, disk);
    }),
  );
}

function restorePeer(world: SimWorld, peer: SimPeer): void {
  const disk = KEPT.get(peer);
  if (disk === undefined || !peer.isUp) return;
  KEPT.delete(peer);
  peer.crash();
  for (const connection of world.network.of(peer.name)) connection.cut("server");
  peer.node.note("comes back from what was kept");
  peer.putDisk(disk);
  peer.isCopyKnown = world.scheduler.random.chance(0.3);
  world.later(world.scheduler.between(20, 2000), () => world.startPeer(peer));
}

function changeRights(world: SimWorld): void {
  const { server, scheduler } = world;
  server.changeRights(scheduler.random.pick(server.credentials));
}

function revoke(world: SimWorld): void {
  const { server, scheduler } = world;
  const credential = scheduler.random.pick(server.credentials);
  server.setRevoked(credential, true);
  world.later(scheduler.between(1000, 20_000), () => server.setRevoked(credential, false));
}

/** The user logs out, and somebody else logs in on the same device, perhaps later and with writes in between. */
function changeUser(world: SimWorld, peer: SimPeer): void {
  const { server, scheduler } = world;
  const isOnline = peer.isSyncWanted;
  peer.setSync(false);
  peer.credential = scheduler.random.pick(server.credentials);
  peer.node.note(`is used by ${peer.credential.name}`);
  if (!isOnline) return;
  const delay = scheduler.random.chance(0.5) ? 0 : scheduler.between(0, 5000);
  world.later(delay, () => peer.setSync(true));
}

const DAY = 86_400_000;

function jumpPeerClock({ scheduler, writes }: SimWorld, peer: SimPeer): void {
  const { random } = scheduler;
  peer.node.skewMs = random.pick([
    0,
    500,
    -500,
    5000,
    -90_000,
    400_000,
    DAY,
    -DAY,
    365 * DAY,
    -9000 * DAY,
  ]);
  peer.node.note(`has its clock at ${peer.node.skewMs}`);
  // The clock of the store does not go back: what it stamps from then on may be ahead for long.
  if (peer.node.skewMs > DRIFT_MS_MAX / 2) writes.spoil(peer.node.disk);
}

function jumpServerClock({ scheduler }: SimWorld, server: SimServer): void {
  const jump = scheduler.random.pick([1500, -1500, 20_000, -20_000]);
  server.node.skewMs += jump;
  if (jump < 0) server.wasClockSetBack = true;
  server.node.note(`has its clock at ${server.node.skewMs}`);
}

function followOne({ scheduler }: SimWorld, peer: SimPeer): void {
  const { random } = scheduler;
  const past = [...peer.pastWishes.values()];
  const isAgain = past.length > 0 && random.chance(0.4);
  peer.follow(isAgain ? random.pick(past) : randomWish(random));
}

/** A query that is new to the peer, and a connection, or a process, that does not last for all of it. */
function cutFill(world: SimWorld, peer: SimPeer): void {
  const { scheduler } = world;
  const { random } = scheduler;
  peer.follow(freshWish(random));
  let left = 1 + random.below(4);
  peer.onPiece = () => {
    if (--left > 0) return;
    peer.onPiece = undefined;
    // At once: the next piece is right behind it.
    for (const connection of world.network.of(peer.name)) {
      connection.cut(random.pick(["both", "both", "client", "neither"]));
    }
    if (random.chance(0.5)) burstAtServer(world);
    const isCrash = random.chance(0.3);
    if (isCrash) world.later(scheduler.between(0, 20), () => world.crashPeer(peer));
  };
}

function leaveOne({ scheduler }: SimWorld, peer: SimPeer): void {
  const keys = [...peer.wishes.values()].filter(({ collection }) => collection !== "tally");
  if (keys.length > 0) peer.leave(scheduler.random.pick(keys).key);
}

/** In one breath, or nearly: what was said before is on its way, and the store has not done it yet. */
function churn(world: SimWorld, peer: SimPeer): void {
  const { random } = world.scheduler;
  const wishes = [...peer.wishes.values()].filter(({ collection }) => collection !== "tally");
  if (wishes.length === 0) return;
  const wish = random.pick(wishes);
  const both = [wish, wish, twinOf(wish)];
  const flip = (): void => {
    const each = random.pick(both);
    if (peer.wishes.has(each.key)) peer.leave(each.key);
    else peer.follow(each);
  };
  let atMs = 0;
  for (let i = 1 + random.below(3); i > 0; i--) {
    world.later(atMs, () => {
      flip();
      flip();
    });
    atMs += random.pick([0, 5, 40, 150]);
  }
}

function evictAtPeer(_: SimWorld, peer: SimPeer): void {
  const id = peer.node.random.pick(["n0", "n1", "n2", "n3"]);
  peer.node.note(`evicts ${id}`);
  peer.hasEvicted = true;
  peer
    .write([{ statement: "EVICT FROM notes WHERE _id = :id", args: { id } }])
    ?.catch(() => undefined);
}

/** The disk is full, or broken, for one write. */
function failWrite(world: SimWorld, peer: SimPeer): void {
  const { server, scheduler } = world;
  const isServer = scheduler.random.chance(0.3);
  if (!server.machines.some(({ isUp }) => isUp) || !peer.isUp) return;
  const code = scheduler.random.pick(["store.full", "store.write_failed"] as const);
  if (isServer) return server.failNextWrite(code);
  peer.node.note("will fail to write");
  peer.failNextWrite(code);
}

/** The origin has used up its quota, until the user makes room. */
function reachQuota(world: SimWorld, peer: SimPeer): void {
  if (!peer.isUp || peer.isFull) return;
  peer.node.note("has reached its quota");
  peer.isFull = true;
  world.later(world.scheduler.between(100, 8000), () => {
    peer.isFull = false;
  });
}

function maintainPeer(world: SimWorld, peer: SimPeer): void {
  const { running, node } = peer;
  // A clock that is a year ahead makes a peer forget what it keeps for a server that is restored.
  if (running === undefined || node.skewMs > DAY) return;
  world.run(running.store.maintain().catch(() => undefined));
}

const KINDS: readonly Kind[] = [
  { name: "write at a peer", weight: 30, happen: writeAtPeer },
  { name: "burst at a peer", weight: 3, happen: burstAtPeer },
  { name: "write at the server", weight: 12, happen: writeAtServer },
  { name: "burst at the server", weight: 2, happen: burstAtServer },
  { name: "follow", weight: 6, happen: followOne },
  { name: "leave", weight: 4, happen: leaveOne },
  { name: "churn", weight: 4, happen: churn },
  { name: "cut", weight: 6, happen: cut },
  { name: "cut of a fill", weight: 4, happen: cutFill },
  { name: "partition", weight: 2, happen: partition },
  { name: "stall", weight: 3, happen: stall },
  { name: "slow", weight: 2, happen: slow },
  { name: "crash of a peer", weight: 2, happen: (world, peer) => world.crashPeer(peer) },
  { name: "crash of a peer at a write", weight: 3, happen: crashAtWrite },
  { name: "close of a peer", weight: 1, happen: closePeer },
  {
    name: "crash of the server",
    weight: 1,
    happen: (world) => world.crashMachine(world.pickMachine()),
  },
  {
    name: "crash of the server at a write",
    weight: 2,
    ...ofMachine(({ scheduler }, server) => {
      server.node.writesToCrash = scheduler.random.below(10);
    }),
  },
  { name: "close of the server", weight: 0.7, ...ofMachine(closeServer) },
  { name: "backup", weight: 1, ...ofMachine(backUp) },
  { name: "restore", weight: 0.7, ...ofMachine(restoreServer) },
  { name: "clone", weight: 0.5, happen: clone },
  { name: "keep of a peer", weight: 0.7, happen: keepPeer },
  { name: "restore of a peer", weight: 0.7, happen: restorePeer },
  { name: "change of rights", weight: 3, happen: changeRights },
  { name: "change of user", weight: 1.5, happen: changeUser },
  { name: "revoke", weight: 0.6, happen: revoke },
  { name: "clock of a peer", weight: 1.5, happen: jumpPeerClock },
  { name: "clock of the server", weight: 0.3, ...ofMachine(jumpServerClock) },
  {
    name: "maintenance",
    weight: 4,
    happen: (world) => world.run(world.server.maintain()),
  },
  { name: "offline", weight: 2, happen: (_, peer) => peer.setSync(false) },
  { name: "online", weight: 4, happen: (_, peer) => peer.setSync(true) },
  { name: "failing disk", weight: 0.7, happen: failWrite },
  { name: "quota of a peer", weight: 0.7, happen: reachQuota },
  { name: "maintenance at a peer", weight: 0.7, happen: maintainPeer },
  { name: "evict at a peer", weight: 0.7, happen: evictAtPeer },
  ...DEVICE_KINDS,
];

/** Whoever writes always does; all else happens often, seldom or never in a run. */
function drawWeights(kinds: readonly Kind[], random: Random): number[] {
  return kinds.map(({ weight }, i) => (i < 3 ? weight : weight * random.pick([0, 0.3, 1, 1, 3])));
}

export interface DrawnKinds {
  /** They happen instead of what happens to a server of one machine. */
  readonly others?: readonly Kind[] | undefined;
  /** They happen as well. */
  readonly more?: readonly Kind[] | undefined;
}

export async function drawEvents(
  world: SimWorld,
  length: number,
  { others, more = [] }: DrawnKinds = {},
): Promise<void> {
  const { scheduler } = world;
  const { random } = scheduler;
  const usual = others ? [...KINDS.filter((kind) => !kind.isOfMachine), ...others] : KINDS;
  const kinds = [...usual, ...more];
  const weights = drawWeights(kinds, random);
  const total = weights.reduce((a, b) => a + b, 0);
  const pace = random.pick([50, 300, 1500]);
  for (let i = 0; i < length; i++) {
    let left = (random.below(1_000_000) / 1_000_000) * total;
    const index = weights.findIndex((weight) => (left -= weight) < 0);
    const kind = kinds[index] ?? kinds[0];
    if (kind === undefined) return;
    world.count(kind.name);
    const peer = random.pick(world.peers);
    kind.happen(world, peer);
    const isLong = random.chance(0.02);
    await scheduler.runFor(scheduler.between(0, isLong ? 40_000 : pace));
  }
}
