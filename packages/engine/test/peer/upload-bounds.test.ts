/**
 * Whatever a peer lets be written can be uploaded; what could not is refused before anybody counts
 * on it, because it would hold up all that comes behind it.
 */

import {
  DEPTH_MAX,
  decodePeerMessage,
  encodeMessage,
  type PeerError,
  SYNC_MESSAGE_BYTES_MAX,
  type Value,
  type ValueObject,
} from "@bigpeer/protocol";
import { expect, test } from "vitest";
import { isFullSize } from "../../../protocol/test/support/test-size.ts";
import { insert } from "../support/document-operation.ts";
import { dump, fieldsOf, problems } from "../support/open-store.ts";
import { type PeerPair, peerPair, take, upload, write } from "../support/peer-pair.ts";

/** Sends all that waits, over the bytes of the protocol. Returns what became of each. */
async function uploadBytes(pair: PeerPair): Promise<string[]> {
  const kinds: string[] = [];
  for (const sequenced of await pair.peer.sequence(0, 100)) {
    const { number, digest, steps } = sequenced;
    const bytes = encodeMessage({ t: "upload", number, digest, steps });
    expect(bytes.length).toBeLessThanOrEqual(SYNC_MESSAGE_BYTES_MAX);
    const message = decodePeerMessage(bytes);
    if (message.t !== "upload") throw new Error("expected an upload");
    const outcome = await upload(pair, { ...sequenced, steps: message.steps });
    kinds.push(outcome.kind);
    await take(pair, outcome);
  }
  return kinds;
}

test.runIf(isFullSize)(
  "[S79] a transaction with more lists and objects than a server reads is refused when written",
  async () => {
    const pair = await peerPair();
    const before = dump(pair.storage);
    const many = Array.from({ length: 120_000 }, () => [1]);
    const failure = write(pair, insert("a", { many }));
    await expect(failure).rejects.toThrow("expected fewer lists, objects and binary values");
    expect(await failure.catch((error: PeerError) => error.code)).toBe("operation.refused");
    expect(dump(pair.storage)).toEqual(before);
    // A million small numbers are as good as anything else.
    const numbers = Array.from({ length: 1_000_000 }, (_, i) => i % 20);
    await write(pair, insert("b", { numbers, few: many.slice(0, 60_000) }));
    expect(await uploadBytes(pair)).toEqual(["applied"]);
  },
);

test.runIf(isFullSize)(
  "[S79] a transaction too large for one upload is refused, and nothing of it is written",
  async () => {
    const pair = await peerPair();
    await write(pair, insert("before", {}));
    const part = "x".repeat(SYNC_MESSAGE_BYTES_MAX / 4);
    const parts = ["a", "b", "c", "d"].map((id) => insert(id, { part }));
    const before = dump(pair.storage);
    const failure = write(pair, ...parts);
    await expect(failure).rejects.toThrow("expected a transaction of at most 16711680 bytes");
    expect(await failure.catch((error: PeerError) => error.code)).toBe("operation.refused");
    expect(dump(pair.storage)).toEqual(before);
    expect(pair.peer.pendingCount).toBe(1);
    // What is a little smaller can be written, and can be uploaded.
    await write(pair, ...parts.slice(1));
    expect(await uploadBytes(pair)).toEqual(["applied", "applied"]);
    expect(problems(pair.storage)).toEqual([]);
  },
);

test("[V7] a document of the maximum number of levels can be written and uploaded", async () => {
  const pair = await peerPair();
  const nested = (levels: number, inner: Value): Value =>
    levels === 0 ? inner : { a: nested(levels - 1, inner) };
  const fields = nested(DEPTH_MAX, 1) as ValueObject;
  await write(pair, insert("a", fields));
  await write(pair, { kind: "initial", collection: "c", id: "b", fields });
  await write(pair, insert("c", {}));
  const path = ["a"];
  const edit = { kind: "set", path, value: nested(DEPTH_MAX - 1, 2) } as const;
  await write(pair, { kind: "update", collection: "c", id: "c", edits: [edit] });
  await expect(write(pair, insert("d", { a: fields }))).rejects.toThrow("64 levels");
  expect(await uploadBytes(pair)).toEqual(["applied", "applied", "applied", "applied"]);
  expect(pair.peer.refused()).toEqual([]);
  for (const { store } of [pair.peer, { store: pair.server }]) {
    expect(["a", "b", "c"].map((id) => fieldsOf(store, "c", id))).toEqual([
      fields,
      fields,
      nested(DEPTH_MAX, 2),
    ]);
  }
  expect(problems(pair.storage)).toEqual([]);
});
