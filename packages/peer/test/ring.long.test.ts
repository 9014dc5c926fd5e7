/**
 * Three real servers in a ring, each of which pulls something else from the one before it, with small
 * peers and writers over HTTP on each. For three minutes links are cut or go silent and servers and
 * peers are killed, at random. Then each has all that its queries select, equal to what its source
 * has, nothing else has crossed, the counters are exact, and at rest nothing crosses any more.
 *
 * `RING_SECONDS` shortens it.
 */

import { setTimeout as wait } from "node:timers/promises";
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from "vitest";
import { bundleScript, type Script } from "../../node/test/support/script.ts";
import { temporaryFolder } from "../../node/test/support/temporary-folder.ts";
import { RingServer, type Row } from "./support/ring-server.ts";
import { HIDDEN, type Order, RingWriter, SHOWN, TEAMS } from "./support/ring-writer.ts";
import { FleetProcess } from "./support/running-fleet.ts";

const SECONDS = Number(process.env["RING_SECONDS"] ?? 120);
const PEERS = 6;
const WRITERS = 3;
const REST_MS = 5_000;
const DRAFTS = 5;

/** What is there before anybody pulls: its way around is cut, too. */
const STOCK = 20_000;
const STOCK_AT_ONCE = 1_000;
const PATIENCE = { timeout: 240_000, interval: 1_000 };

interface Member {
  readonly server: RingServer;
  /** Regions of orders that it asks for. */
  readonly regions: readonly number[];
  readonly fleet: FleetProcess;
  readonly writers: readonly RingWriter[];
  /** Whom it pulls from. */
  readonly source: () => Member;
}

/** `c` pulls from `b`, `b` from `a`, `a` from `c`. Region 5 goes to everybody, region 6 to nobody. */
const REGIONS_OF = { a: [0, 1, 5], b: [1, 2, 5], c: [0, 2, 3, 5] };
const NAMES = ["a", "b", "c"] as const;
const ADDRESSEES = [...NAMES, "nobody"];

let serverScript: Script;
let fleetScript: Script;

beforeAll(async () => {
  serverScript = await bundleScript("server/src/main");
  fleetScript = await bundleScript("peer/test/support/fleet-process");
});

afterAll(() => {
  serverScript.remove();
  fleetScript.remove();
});

test("[S47] [S51] [S53] [S54] three Big Peers in a ring, killed and cut off under writes, end exact and idle", async ({
  annotate,
}) => {
  const acknowledged = new Set<string>();
  const ring = await startRing((id) => acknowledged.add(id));
  const heard = listen(ring);
  const writing = ring.flatMap(({ writers }) => writers.map((each) => each.write()));
  await Promise.all(ring.map(({ fleet }) => fleet.start()));
  await Promise.race([disturb(ring), Promise.all(writing)]);
  for (const { writers } of ring) for (const each of writers) each.stop();
  await Promise.all(writing);
  for (const { writers } of ring) {
    for (const { marks } of writers) for (const id of marks) acknowledged.add(id);
  }
  for (const { fleet } of ring) await fleet.ask("settle");
  await vi.waitFor(() => expectLinked(ring), PATIENCE);
  await vi.waitFor(() => expectCounted(ring, acknowledged), PATIENCE);
  await vi.waitFor(() => expectOrders(ring), PATIENCE);
  await vi.waitFor(() => expectStock(ring), PATIENCE);
  await vi.waitFor(() => expectLetters(ring), PATIENCE);
  await expectPeers(ring);
  for (const { fleet } of ring) await fleet.end("SIGTERM");
  await expectRest(ring);
  expect(heard).toEqual(new Set([SHOWN]));
  const happened = { acknowledged: acknowledged.size, ...disturbances(ring) };
  await annotate(JSON.stringify(happened));
  expect(happened.acknowledged).toBeGreaterThan(SECONDS);
  expect(happened.linksCut).toBeGreaterThan(SECONDS / 5);
  expect(happened.serversKilled).toBeGreaterThan(SECONDS / 30);
});

async function startRing(onMark: (id: string) => void): Promise<readonly Member[]> {
  const folder = temporaryFolder();
  const ring: Member[] = [];
  for (const [i, name] of NAMES.entries()) {
    const server = await RingServer.start(name, serverScript);
    const numbers = [i * PEERS, (i + 1) * PEERS, TEAMS].map(String);
    const { appId, apiKey, peers } = server;
    const words = [fleetScript.path, peers.url, appId, apiKey, folder, ...numbers];
    const fleet = new FleetProcess(words, onMark);
    onTestFinished(() => fleet.end("SIGKILL"));
    const puller = NAMES[(i + 1) % NAMES.length];
    const isAskedFor = (to: string): boolean => to === puller;
    const writers = Array.from(
      { length: WRITERS },
      (_, number) => new RingWriter({ server, number, addressees: ADDRESSEES, isAskedFor }),
    );
    const source = (): Member => memberOf(ring, (i + NAMES.length - 1) % NAMES.length);
    ring.push({ server, regions: REGIONS_OF[name], fleet, writers, source });
  }
  await makeTotals(ring);
  await makeStock(ring);
  for (const { server, regions, source } of ring) {
    await server.pullFrom(source().server, {
      marks: ["true"],
      totals: ["true"],
      stock: ["n < 1000000", "n >= 1000000"],
      letters: [`to == '${server.name}'`],
      // Each on its own: an order may match one after the other.
      orders: regions.map((region) => `region = ${region}`),
    });
  }
  await vi.waitFor(async () => {
    for (const { server } of ring) expect(await server.all("totals")).toHaveLength(TEAMS);
  }, PATIENCE);
  return ring;
}

async function makeTotals([first]: readonly Member[]): Promise<void> {
  for (let team = 0; team < TEAMS; team++) {
    const value = { n: 0 };
    const valueTypeOverrides = { n: "counter" };
    const upsert = { method: "upsert", collection: "totals", id: team, value, valueTypeOverrides };
    await first?.server.call("/store/write", { commands: [upsert] });
  }
}

async function makeStock([first]: readonly Member[]): Promise<void> {
  const statement = "INSERT INTO stock DOCUMENTS (:documents)";
  for (let from = 0; from < STOCK; from += STOCK_AT_ONCE) {
    const documents = Array.from({ length: STOCK_AT_ONCE }, (_, i) => {
      return { _id: `item ${from + i}`, n: (from + i) * 100, text: "x".repeat(100) };
    });
    await first?.server.call("/store/execute", { statement, args: { documents } });
  }
}

/** Which of the two words are heard on any link. */
function listen(ring: readonly Member[]): ReadonlySet<string> {
  const heard = new Set<string>();
  for (const { server } of ring) {
    server.links.onSaid = (text) => {
      for (const word of [HIDDEN, SHOWN]) if (text.includes(word)) heard.add(word);
    };
  }
  return heard;
}

/** Cuts, silences and kills until the time is over; then everybody runs. */
async function disturb(ring: readonly Member[]): Promise<void> {
  const endMs = Date.now() + SECONDS * 1_000;
  const cutter = setInterval(() => {
    const { server } = any(ring);
    // Until then nobody knows that it is lost: a minute.
    if (Math.random() < 0.03) server.links.swallow();
    else if (Math.random() < 0.5) server.links.cutOne();
    else server.peers.cutOne();
  }, 700);
  onTestFinished(() => clearInterval(cutter));
  while (Date.now() < endMs) {
    await wait(1_000 + Math.random() * 5_000);
    const { server, fleet } = any(ring);
    if (Math.random() < 0.6) {
      await server.kill();
      await wait(Math.random() * 2_000);
      await server.open();
    } else {
      await fleet.kill();
      await fleet.start();
    }
  }
  clearInterval(cutter);
  // A link that is silent would pass for one at rest.
  for (const { server } of ring) server.links.cutAll();
}

function any(ring: readonly Member[]): Member {
  return memberOf(ring, Math.floor(Math.random() * ring.length));
}

function memberOf(ring: readonly Member[], i: number): Member {
  const member = ring[i];
  if (member === undefined) throw new Error(`expected a member ${i} of the ring`);
  return member;
}

async function expectLinked(ring: readonly Member[]): Promise<void> {
  for (const { server, source } of ring) {
    const link = await server.linkOf(source().server);
    expect([server.name, link?.state, link?.lag.transactions]).toEqual([server.name, "linked", 0]);
    const states = new Set(link?.subscriptions.map(({ state }) => state));
    expect([...states]).toEqual(["live"]);
  }
}

/** Every mark that was acknowledged is everywhere, and each has been counted once. */
async function expectCounted(
  ring: readonly Member[],
  acknowledged: ReadonlySet<string>,
): Promise<void> {
  const marks = await ring[0]?.server.all("marks");
  const ids = new Set(marks?.map(({ _id: id }) => id as string));
  expect([...acknowledged].filter((id) => !ids.has(id))).toEqual([]);
  const counts = Array.from({ length: TEAMS }, (_, team) => ({
    _id: team,
    n: marks?.filter((mark) => mark["team"] === team).length,
  }));
  for (const { server } of ring) {
    expect(await server.all("marks")).toEqual(marks);
    expect(await server.all("totals")).toEqual(counts);
  }
}

async function expectStock(ring: readonly Member[]): Promise<void> {
  const stock = await ring[0]?.server.all("stock");
  expect(stock).toHaveLength(STOCK);
  for (const { server } of ring) expect(await server.all("stock")).toEqual(stock);
}

async function expectOrders(ring: readonly Member[]): Promise<void> {
  const made = new Map(ring.flatMap(({ writers }) => writers.flatMap((each) => [...each.orders])));
  for (const member of ring) {
    const found = await byId(member.server, "orders");
    expectOwn(member, found, made);
    for (const [id, order] of found) expectAllowed(member, id, made.get(id), order);
    for (const [id, theirs] of await byId(member.source().server, "orders")) {
      if (!member.regions.includes(theirs["region"] as number)) continue;
      const ours = found.get(id);
      if (theirs["home"] !== member.server.name) expect(ours).toEqual(theirs);
      // What comes around to where it was made may be old: it moved, and nobody asked for it any more.
      else expect(ours?.["rev"]).toBeGreaterThanOrEqual(theirs["rev"] as number);
    }
  }
}

/** What was written here is as the writers know it. */
function expectOwn(
  { server: { name } }: Member,
  found: ReadonlyMap<string, Row>,
  made: ReadonlyMap<string, Order>,
): void {
  const own = [...made].filter(([, { home, isDeleted }]) => home === name && !isDeleted);
  const ofHere = [...found].filter(([, { home }]) => home === name);
  const wanted = new Map(own.map(([id, { rev }]) => [id, rev]));
  expect(new Map(ofHere.map(([id, { rev }]) => [id, rev]))).toEqual(wanted);
}

/** It is not deleted, and each on its way here has asked for it at some time. */
function expectAllowed(member: Member, id: string, order: Order | undefined, row: Row): void {
  const reported = `${id} on ${member.server.name}: ${JSON.stringify(row)}`;
  expect(order?.isDeleted, reported).toBe(false);
  for (let on = member; on.server.name !== order?.home; on = on.source()) {
    const hasMatched = on.regions.some((region) => order?.regions.has(region));
    expect(hasMatched, reported).toBe(true);
  }
}

/** Exactly those that were written here, and those of the source for this one; drafts cross nowhere. */
async function expectLetters(ring: readonly Member[]): Promise<void> {
  for (const { server, writers, source } of ring) {
    const { name } = server;
    const own = writers.flatMap(({ letters }) => [...letters.keys()]);
    const theirs = source().writers.flatMap(({ letters }) => [...letters]);
    const come = theirs.filter(([, to]) => to === name).map(([id]) => id);
    const found = await byId(server, "letters");
    expect([...found.keys()].toSorted()).toEqual([...own, ...come].toSorted());
    const atSource = await byId(source().server, "letters");
    for (const id of come) expect(found.get(id)).toEqual(atSource.get(id));
    const drafts = writers.flatMap((each) => [...each.drafts]).toSorted();
    expect([...(await byId(server, "drafts")).keys()].toSorted()).toEqual(drafts);
  }
}

async function expectPeers(ring: readonly Member[]): Promise<void> {
  for (const [i, { server, fleet }] of ring.entries()) {
    const marks = await server.all("marks");
    const totals = (await server.all("totals")).map(({ n }) => n);
    for (let number = i * PEERS; number < (i + 1) * PEERS; number++) {
      const ofTeam = marks.filter(({ team }) => team === number % TEAMS);
      const ids = ofTeam.map(({ _id: id }) => id);
      const wanted = { marks: ids, totals, strangers: 0, pending: 0, refused: 0 };
      await vi.waitFor(async () => {
        expect({ number, ...(await fleet.digest(number)) }).toEqual({ number, ...wanted });
      }, PATIENCE);
    }
  }
}

/** Neither a document nor a transaction while nobody writes; and no document when nobody asks for it. */
async function expectRest(ring: readonly Member[]): Promise<void> {
  let before = await reading(ring);
  await vi.waitFor(async () => {
    await wait(REST_MS);
    const now = await reading(ring);
    const last = before;
    before = now;
    expect(now).toEqual(last);
  }, PATIENCE);
  for (let i = 0; i < DRAFTS; i++) {
    for (const { server } of ring) {
      const statement = "INSERT INTO drafts DOCUMENTS (:draft)";
      const draft = { _id: `rest-${i}`, home: server.name, text: HIDDEN };
      await server.call("/store/execute", { statement, args: { draft } });
    }
  }
  await wait(REST_MS);
  const wanted = before.map(({ txn, crossed }) => ({ txn: txn + DRAFTS, crossed }));
  expect(await reading(ring)).toEqual(wanted);
}

async function reading(
  ring: readonly Member[],
): Promise<readonly { readonly txn: number; readonly crossed: unknown }[]> {
  const readings = [];
  for (const { server } of ring) {
    readings.push({ txn: await server.txn(), crossed: await server.crossed() });
  }
  return readings;
}

function disturbances(ring: readonly Member[]) {
  const sum = (of: (member: Member) => number): number =>
    ring.reduce((total, member) => total + of(member), 0);
  return {
    linksCut: sum(({ server }) => server.links.cuts),
    linksSilenced: sum(({ server }) => server.links.silences),
    serversKilled: sum(({ server }) => server.kills),
    peersKilled: sum(({ fleet }) => fleet.kills),
    resent: sum(({ writers }) => writers.reduce((count, { resent }) => count + resent, 0)),
    orders: sum(({ writers }) => writers.reduce((count, { orders }) => count + orders.size, 0)),
  };
}

async function byId(server: RingServer, collection: string): Promise<ReadonlyMap<string, Row>> {
  return new Map((await server.all(collection)).map((row) => [row["_id"] as string, row]));
}
