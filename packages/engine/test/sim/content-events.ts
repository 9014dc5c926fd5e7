/**
 * What happens to attachments in a run: they are created, written into documents, and fetched.
 */

import { insertWith } from "./sim-contents.ts";
import { type Kind, writeDrawn } from "./sim-events.ts";
import type { SimPeer } from "./sim-peer.ts";
import type { SimWorld } from "./sim-world.ts";

function createAtPeer(world: SimWorld, peer: SimPeer): void {
  const { node, running } = peer;
  const { contents } = running ?? {};
  if (contents === undefined) return;
  const { life } = node;
  world.contents?.create(node, contents).then(
    (token) => {
      if (!life.isAlive) return;
      const id = node.random.pick(["n0", "n1", "n2", "c0", "c1"]);
      writeDrawn(world, peer, 1, (tag) => insertWith(token, id, tag));
    },
    (error: unknown) => node.note(`did not create: ${String(error)}`),
  );
}

function fetchAtPeer(world: SimWorld, { node, running }: SimPeer): void {
  if (running?.contents === undefined) return;
  world.contents?.fetch(node, running.contents, running.store);
}

export const CONTENT_KINDS: readonly Kind[] = [
  { name: "create a content", weight: 25, happen: createAtPeer },
  { name: "fetch a content", weight: 15, happen: fetchAtPeer },
];
