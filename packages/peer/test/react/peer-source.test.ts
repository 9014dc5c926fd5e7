/**
 * The peer of a provider, without React: opened once, closed after the last mount.
 */
import { setTimeout } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { Gate } from "../../src/gate.ts";
import { openPeer, type Peer } from "../../src/index.ts";
import { PeerSource } from "../../src/react/peer-source.ts";
import { until } from "../support/turns.ts";

function newPeer(): Promise<Peer> {
  const appId = crypto.randomUUID();
  return openPeer({ appId, url: "http://127.0.0.1:9", token: "t", memory: true });
}

interface Opening {
  readonly source: PeerSource;
  /** The peers that it opened. */
  readonly peers: Peer[];
  /** Lets it go on. */
  readonly gate: Gate;
}

function openingSource(): Opening {
  const peers: Peer[] = [];
  const gate = new Gate();
  const open = async (): Promise<Peer> => {
    const peer = await newPeer();
    peers.push(peer);
    onTestFinished(() => peer.close());
    await gate.opened;
    return peer;
  };
  return { source: new PeerSource({ open, isOwned: true }), peers, gate };
}

test("strict mode, which mounts twice, opens one peer; the end of the mount closes it", async () => {
  const { source, peers, gate } = openingSource();
  gate.open();
  source.mount()();
  const unmount = source.mount();
  const peer = await source.peer();
  expect(peers).toEqual([peer]);
  expect(source.state.values?.peer).toBe(peer);
  unmount();
  expect(peer.isClosed).toBe(false);
  await until(() => peer.isClosed);
  expect(source.state).toEqual({});
});

test("a peer that is opened after the end of the mount is closed, and was never there", async () => {
  const { source, peers, gate } = openingSource();
  const states: unknown[] = [];
  source.listen(() => states.push(source.state));
  const unmount = source.mount();
  await until(() => peers.length === 1);
  unmount();
  await setTimeout();
  gate.open();
  await until(() => peers.every(({ isClosed }) => isClosed));
  expect(states).toEqual([]);
});

test("a source that is mounted again later opens another peer, after the first one is closed", async () => {
  const { source, peers, gate } = openingSource();
  gate.open();
  const unmount = source.mount();
  const first = await source.peer();
  unmount();
  await setTimeout();
  const unmountAgain = source.mount();
  expect(await source.peer()).not.toBe(first);
  expect([first.isClosed, peers.length]).toEqual([true, 2]);
  unmountAgain();
});

test("a peer that cannot be opened is an error of the state, and of who waits", async () => {
  const error = new Error("no");
  const source = new PeerSource({ open: () => Promise.reject(error), isOwned: true });
  const waiting = source.peer();
  const unmount = source.mount();
  await expect(waiting).rejects.toBe(error);
  expect(source.state).toEqual({ error });
  unmount();
});

test("a peer of the app is there at once, and is not closed", async () => {
  const peer = await newPeer();
  onTestFinished(() => peer.close());
  const source = PeerSource.of(peer);
  const before = source.state;
  const unmount = source.mount();
  expect(before.values?.peer).toBe(peer);
  await setTimeout();
  expect(source.state).toBe(before);
  unmount();
  await setTimeout();
  expect(peer.isClosed).toBe(false);
});
