/**
 * What must hold when there is peace and everyone has settled.
 */

import { compareBytes, documentId, type Value, type ValueObject } from "@bigpeer/protocol";
import { stateToBytes } from "../../src/crdt/state-codec.ts";
import { heldKey, SUBSCRIPTIONS } from "../../src/store/keys.ts";
import { MemoryKeyValue } from "../../src/store/memory-key-value.ts";
import { OWN_COVER, readHeld, type SubscriptionRecord } from "../../src/store/peer-records.ts";
import { View } from "../../src/store/view.ts";
import { describeDoc, valueText } from "../support/dump.ts";
import { showDoc } from "../support/model.ts";
import { modelOf, withoutFloors } from "./model-horizon.ts";
import { placeOf, splitPlace, uploadName } from "./server-oracle.ts";
import type { SimPeer } from "./sim-peer.ts";
import { TALLY, type Wish } from "./sim-rules.ts";
import { TALLIES } from "./sim-statements.ts";
import type { SimWorld } from "./sim-world.ts";
import type { World } from "./world.ts";

/** Why a run has not settled; undefined when it has. */
export function isSettled(world: World): string | undefined {
  const { server, peers, network } = world;
  const unsettled = server.unsettled();
  if (unsettled !== undefined) return unsettled;
  for (const peer of peers) {
    const reason = unsettledIn(world, peer);
    if (reason !== undefined) return `${peer.name} ${reason}`;
  }
  for (const { up, down, dialler, isOver } of network.connections) {
    if (isOver || up.isBroken || down.isBroken) continue;
    if (!up.isIdle || !down.isIdle) return `something is on its way for ${dialler}`;
  }
  return undefined;
}

function unsettledIn(world: World, peer: SimPeer): string | undefined {
  const { running } = peer;
  if (running === undefined) return "is down";
  const { phase, waitingBytes } = running.sync.status();
  if (phase !== "open") return `is ${phase}`;
  if (waitingBytes > 0) return "has frames to take in";
  const { pendingCount } = running.store;
  if (pendingCount > 0) return `has ${pendingCount} writes without an outcome`;
  for (const [key, subscription] of running.subscriptions) {
    const wish = peer.wishes.get(key);
    if (wish === undefined) return `still follows ${key}`;
    const expected = hasRule(peer, wish) ? "ready" : "refused";
    if (subscription.status !== expected)
      return `${key} is ${subscription.status}, not ${expected}`;
  }
  const isCut = world.network.of(peer.name).some(({ up, down, client }) => {
    const isUsed = !client.isClosed && client.life?.isAlive === true;
    return isUsed && (up.isBroken || down.isBroken);
  });
  if (isCut) return "does not know yet that it is cut off";
  const session = world.server.sessions.find(({ dialler, end }) => {
    return dialler === peer.name && !end.isClosed && !end.connection.client.isClosed;
  });
  return session === undefined ? "has no session" : undefined;
}

function hasRule({ credential }: SimPeer, wish: Wish): boolean {
  return credential.authority?.hasReadRule(wish.collection) ?? true;
}

export function checkAtEnd(world: SimWorld): void {
  checkWorld(world);
  checkTallies(world);
}

/** All but the tallies, to which links bring something as well. */
export function checkWorld(world: World): void {
  const { server, scheduler, writes, peers } = world;
  for (const peer of peers) {
    const reason = unsettledIn(world, peer);
    if (reason === undefined) continue;
    return scheduler.fail("who has settled stays so", `${peer.name} ${reason}`);
  }
  const { oracle } = server;
  server.checkAtEnd();
  const disks = new Set(peers.map((peer) => peer.node.disk));
  writes.check(scheduler, oracle, {
    disks,
    given: tagsRefused(world),
    restamped: world.tap.restamped,
    isRestored: server.restores > 0,
  });
  checkReported(world);
  for (const peer of peers) new PeerCheck(world, peer).check();
}

/** Writes that a peer was told to have no effect: it does not offer them to a restored server. */
function tagsRefused({ tap, sent }: World): Set<string> {
  const tags = new Set<string>();
  for (const upload of sent.all()) {
    if (!tap.refused.has(uploadName(upload.site, upload.number))) continue;
    for (const tag of upload.tags) tags.add(tag);
  }
  return tags;
}

/** What a peer was told of an upload holds. */
function checkReported({ tap, server, scheduler }: World): void {
  for (const [name, { kind, restores }] of tap.reported) {
    if (restores !== server.restores || server.oracle.forgotten.has(name)) continue;
    const found = server.oracle.uploads.get(name)?.kind;
    if (found !== kind) scheduler.fail("what was told holds", `${name}: ${kind}, found ${found}`);
  }
}

function checkTallies({ writes, directSums, server, scheduler }: SimWorld): void {
  const sums = writes.sums(server.oracle);
  for (const tag of server.oracle.ownTags) {
    const direct = directSums.get(tag);
    if (direct !== undefined) sums.set(direct.id, (sums.get(direct.id) ?? 0) + direct.by);
  }
  const view = viewOf(server.disk);
  for (const id of TALLIES) {
    const found = view.get(TALLY, id)?.fields["n"] ?? 0;
    const expected = sums.get(id) ?? 0;
    if (found !== expected && !Number.isNaN(expected)) {
      scheduler.fail("counters are exact", `${id} is ${valueText(found)}, added were ${expected}`);
    }
  }
}

function viewOf(disk: ConstructorParameters<typeof MemoryKeyValue>[0]): View {
  return new View(new MemoryKeyValue(disk).snapshot());
}

class PeerCheck {
  readonly #world: World;
  readonly #peer: SimPeer;
  readonly #server: View;
  readonly #view: View;
  readonly #followed: ReadonlySet<number>;

  constructor(world: World, peer: SimPeer) {
    this.#world = world;
    this.#peer = peer;
    this.#server = viewOf(world.server.disk);
    this.#view = viewOf(peer.node.disk);
    this.#followed = new Set(this.#followedNumbers());
  }

  check(): void {
    const covered = new Set<string>();
    for (const wish of this.#peer.wishes.values()) {
      if (!hasRule(this.#peer, wish)) continue;
      for (const place of this.#selected(wish)) {
        covered.add(place);
        this.#checkSame(place);
      }
    }
    for (const collection of this.#view.collections()) {
      for (const { id, fields } of this.#view.scan(collection)) {
        const place = placeOf(collection, id);
        this.#checkHeld(collection, id, fields);
        if (!covered.has(place)) this.#checkUncovered(collection, id, fields);
      }
    }
  }

  /** What the subscription chooses among what the peer may read, by the oracle. */
  *#selected({ collection, test }: Wish): Iterable<string> {
    const { rights } = this.#peer.credential;
    for (const [place, { doc }] of this.#world.server.oracle.documents) {
      const [of] = splitPlace(place);
      const fields = of === collection ? (showDoc(doc) as ValueObject | undefined) : undefined;
      if (fields !== undefined && test(fields) && rights.mayRead(collection, fields)) yield place;
    }
  }

  #checkSame(place: string): void {
    const [collection, id] = splitPlace(place);
    const { horizon } = this.#server.head;
    const { state: ours } = this.#server.state(collection, id);
    const { state: theirs } = this.#view.state(collection, id);
    if (compareBytes(stateToBytes(ours), stateToBytes(theirs)) === 0) return;
    const [expected, found] = [ours, theirs].map((state) => {
      return describeDoc(withoutFloors(modelOf(state), horizon));
    });
    if (horizon > 0 && found === expected) return;
    this.#fail(
      "who follows a document has it as the server has it",
      `${place}\n  peer   ${found}\n  server ${expected}`,
    );
  }

  #checkHeld(collection: string, id: Value, fields: ValueObject): void {
    const held = this.#heldOf(collection, id);
    if (held === undefined) return this.#fail("what shows is held", placeOf(collection, id));
    if (held.confirmed !== undefined) {
      this.#fail("without pending writes what shows is confirmed", placeOf(collection, id));
    }
    if (this.#peer.credential.rights.mayRead(collection, fields)) return;
    this.#fail(
      "[S21] nobody holds what he may not read",
      `${placeOf(collection, id)} ${valueText(fields)}`,
    );
  }

  /** It is his own, or of a subscription that he has ended. */
  #checkUncovered(collection: string, id: Value, fields: ValueObject): void {
    const covers = this.#heldOf(collection, id)?.covers ?? [];
    if (covers.some((cover) => cover === OWN_COVER || !this.#followed.has(cover))) return;
    this.#fail(
      "[S36] what no subscription covers is let go of",
      `${placeOf(collection, id)} ${valueText(fields)}`,
    );
  }

  /** The numbers that the peer has given to what it follows now. */
  *#followedNumbers(): Iterable<number> {
    for (const { value } of this.#view.reader.entries(SUBSCRIPTIONS)) {
      const { number, query, args } = value as unknown as SubscriptionRecord;
      if (this.#peer.wishes.has(JSON.stringify([query, args]))) yield number;
    }
  }

  #heldOf(collection: string, id: Value): ReturnType<typeof readHeld> | undefined {
    const number = this.#view.collectionNumber(collection);
    if (number === undefined) return undefined;
    const record = this.#view.reader.get(heldKey(number, documentId(id).key));
    return record === undefined ? undefined : readHeld(record);
  }

  #fail(invariant: string, detail: string): void {
    this.#world.scheduler.fail(invariant, `${this.#peer.name}: ${detail}`);
  }
}
