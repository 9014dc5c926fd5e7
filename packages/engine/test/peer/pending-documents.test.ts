/**
 * Which documents have writes without an outcome, followed from commit to commit.
 */
import { documentId } from "@bigpeer/protocol";
import { expect, test } from "vitest";
import { histories } from "../../../protocol/test/support/test-size.ts";
import { PendingDocuments } from "../../src/peer/pending-documents.ts";
import { insert, set } from "../support/document-operation.ts";
import {
  APP,
  outcomeOf,
  type PeerPair,
  peerPair,
  RIGHTS,
  take,
  uploadAll,
  write,
} from "../support/peer-pair.ts";
import { seededRandom } from "../support/test-platform.ts";

const IDS = ["a", "b", "c", "d"];

function refresh(pair: PeerPair, pending: PendingDocuments): boolean {
  return pair.peer.store.read(({ reader }) => pending.refresh(reader));
}

function idsIn(pending: PendingDocuments): string[] {
  return IDS.filter((id) => pending.has("c", documentId(id).key));
}

test("a document is pending from its write until the last of its writes is answered", async () => {
  const pair = await peerPair();
  const pending = new PendingDocuments();
  expect(refresh(pair, pending)).toBe(false);
  expect(pending.isEmpty).toBe(true);
  await write(pair, insert("a", { n: 1 }), insert("b", { n: 1 }));
  await write(pair, set("a", "n", 2));
  expect(refresh(pair, pending)).toBe(true);
  expect(refresh(pair, pending)).toBe(false);
  expect(idsIn(pending)).toEqual(["a", "b"]);
  expect(pending.has("other", documentId("a").key)).toBe(false);
  await uploadAll(pair);
  expect(refresh(pair, pending)).toBe(true);
  expect(idsIn(pending)).toEqual([]);
  expect(pending.isEmpty).toBe(true);
});

test("a write that came and one that was answered between two looks are both seen", async () => {
  const pair = await peerPair();
  const pending = new PendingDocuments();
  await write(pair, insert("a", {}));
  refresh(pair, pending);
  await uploadAll(pair);
  await write(pair, insert("b", {}));
  expect(refresh(pair, pending)).toBe(true);
  expect(idsIn(pending)).toEqual(["b"]);
});

test("a refused write is answered", async () => {
  const pair = await peerPair();
  const pending = new PendingDocuments();
  await write(pair, insert("a", {}));
  refresh(pair, pending);
  const uploads = await pair.peer.sequence(0, 1);
  await take(pair, ...uploads.map((upload) => outcomeOf(upload, "refused", 9, "no")));
  expect(refresh(pair, pending)).toBe(true);
  expect(idsIn(pending)).toEqual([]);
});

test("a server that lost its uploads makes them pending again, and that is seen", async () => {
  const pair = await peerPair();
  const pending = new PendingDocuments();
  await write(pair, insert("a", {}));
  await uploadAll(pair);
  await write(pair, insert("b", {}));
  refresh(pair, pending);
  expect(idsIn(pending)).toEqual(["b"]);
  // The server was restored, and has none of them (S30).
  await pair.peer.welcome({ history: "restored", app: APP, rights: RIGHTS, offsetMs: 0 });
  await pair.peer.reoffer(pair.peer.site, 0);
  expect(refresh(pair, pending)).toBe(true);
  expect(idsIn(pending)).toEqual(["a", "b"]);
});

test("after each step of any history it is as if it was read anew", async () => {
  for (let seed = 1; seed <= histories(20); seed++) {
    const random = seededRandom(seed);
    const pair = await peerPair(seed);
    const pending = new PendingDocuments();
    for (let step = 0; step < 25; step++) {
      const id = random.pick(IDS);
      if (random.chance(0.2)) await uploadAll(pair);
      else await write(pair, { kind: "insert", collection: "c", id, fields: { step } });
      if (random.chance(0.3)) continue;
      refresh(pair, pending);
      const anew = new PendingDocuments();
      refresh(pair, anew);
      expect(idsIn(pending), `seed ${seed}, step ${step}`).toEqual(idsIn(anew));
      expect(pending.isEmpty).toBe(pair.peer.pendingCount === 0);
    }
  }
});
