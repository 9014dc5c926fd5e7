/**
 * The contract of a ContentPlace, for each implementation.
 */

import { createHash } from "node:crypto";
import { CONTENT_PROOF } from "@bigpeer/protocol";
import { expect, test } from "vitest";
import type { ContentPlace } from "../../src/peer/contents/content-place.ts";

export interface PlaceRig {
  readonly place: ContentPlace;
  /** The process ends without a word, and another one opens the place. */
  readonly restart: () => Promise<ContentPlace>;
  /** Whether contents outlive the process. */
  readonly isDurable: boolean;
  /** Whether the last bytes of a download that was not closed may be lost. */
  readonly isBuffered?: boolean;
}

export function contentPlaceContract(name: string, open: () => Promise<PlaceRig>): void {
  test(`${name}: a content has its digest as its id, and a proof that is another digest`, async () => {
    const { place } = await open();
    const created = await place.create(pieces("hello ", "", "world"));
    const { id, proof } = digestsOf("hello world");
    expect(created).toEqual({ id, len: 11, proof });
    expect(await place.has(id)).toBe(true);
    expect(await textOf(place.read(id, 11, 0))).toBe("hello world");
    expect(await textOf(place.read(id, 11, 6))).toBe("world");
    expect(await textOf(place.read(id, 11, 11))).toBe("");
  });

  test(`${name}: the empty content is a content`, async () => {
    const { place } = await open();
    const { id, len } = await place.create(pieces());
    expect([id, len]).toEqual([digestsOf("").id, 0]);
    expect(await textOf(place.read(id, 0, 0))).toBe("");
  });

  test(`${name}: the same content can be created again`, async () => {
    const { place } = await open();
    const first = await place.create(pieces("twice"));
    expect(await place.create(pieces("tw", "ice"))).toEqual(first);
    expect(await idsOf(place)).toEqual([first.id]);
  });

  test(`${name}: of a content that fails, nothing remains`, async () => {
    const { place } = await open();
    const failure = new Error("the stream broke");
    await expect(place.create(failing("12", failure))).rejects.toBe(failure);
    expect(await idsOf(place)).toEqual([]);
  });

  test(`${name}: what is not there or has another length cannot be read`, async () => {
    const { place } = await open();
    const { id } = await place.create(pieces("here"));
    const absent = digestsOf("absent").id;
    await expect(textOf(place.read(absent, 6, 0))).rejects.toMatchObject({
      code: "store.corrupt",
    });
    await expect(textOf(place.read(id, 5, 0))).rejects.toMatchObject({ code: "store.corrupt" });
  });

  test(`${name}: a removed content is gone, and may be removed again`, async () => {
    const { place } = await open();
    const { id } = await place.create(pieces("gone"));
    await place.remove(id);
    await place.remove(id);
    expect([await place.has(id), await idsOf(place)]).toEqual([false, []]);
  });

  test(`${name}: a download that is complete and right becomes a content`, async () => {
    const { place } = await open();
    const { id } = digestsOf("hello world");
    const partial = await place.resume(id);
    expect(partial.size).toBe(0);
    await partial.append(bytesOf("hello "));
    expect([partial.size, await place.has(id)]).toEqual([6, false]);
    await partial.append(bytesOf("world"));
    expect(await partial.finish()).toBe(true);
    await partial.close();
    expect(await textOf(place.read(id, 11, 0))).toBe("hello world");
    expect(await partialSize(place, id)).toBe(0);
  });

  test(`${name}: a download goes on where it ended, in this process and in the next one`, async () => {
    const { place, restart, isDurable, isBuffered } = await open();
    const { id } = digestsOf("abcdef");
    const first = await place.resume(id);
    await first.append(bytesOf("ab"));
    await first.close();
    const second = await place.resume(id);
    expect(second.size).toBe(2);
    await second.append(bytesOf("cd"));
    const next = await restart();
    const third = await next.resume(id);
    const kept = isBuffered === true ? 2 : 4;
    expect(third.size).toBe(isDurable ? kept : 0);
    await third.append(bytesOf("abcdef".slice(third.size)));
    expect(await third.finish()).toBe(true);
    await third.close();
    expect(await textOf(next.read(id, 6, 0))).toBe("abcdef");
  });

  test(`${name}: a download with another digest is not kept, and the next one begins again`, async () => {
    const { place } = await open();
    const { id } = digestsOf("right");
    const partial = await place.resume(id);
    await partial.append(bytesOf("wrong"));
    expect(await partial.finish()).toBe(false);
    await partial.close();
    expect(await place.has(id)).toBe(false);
    const again = await place.resume(id);
    expect(again.size).toBe(0);
    await again.append(bytesOf("right"));
    expect(await again.finish()).toBe(true);
    await again.close();
  });

  test(`${name}: downloads that ended early are listed, and can be discarded`, async () => {
    const { place, isDurable } = await open();
    const [first, second] = [digestsOf("abc").id, digestsOf("defg").id];
    const before = Date.now() - 1000;
    for (const [id, text] of [
      [first, "a"],
      [second, "de"],
    ] as const) {
      const partial = await place.resume(id);
      await partial.append(bytesOf(text));
      await partial.close();
    }
    await place.create(pieces("complete"));
    const found = await place.partials();
    expect(new Map(found.map(({ id, size }) => [id, size]))).toEqual(
      new Map([
        [first, 1],
        [second, 2],
      ]),
    );
    for (const { atMs } of found) {
      if (isDurable) expect(atMs).toBeGreaterThan(before);
      else expect(atMs).toBe(Number.POSITIVE_INFINITY);
    }
    await place.discard(first);
    await place.discard(first);
    expect((await place.partials()).map(({ id }) => id)).toEqual([second]);
    expect(await partialSize(place, first)).toBe(0);
  });

  test(`${name}: complete contents outlive the process`, async () => {
    const { place, restart, isDurable } = await open();
    const { id } = await place.create(pieces("kept"));
    const next = await restart();
    expect(await idsOf(next)).toEqual(isDurable ? [id] : []);
  });

  test(`${name}: a content of several pieces is read from any byte on`, async () => {
    const { place } = await open();
    const text = "0123456789".repeat(300_000);
    const { id, len } = await place.create(pieces(text));
    for (const offset of [0, 1, 262_144, 1_048_576, 2_999_999]) {
      expect(await textOf(place.read(id, len, offset))).toBe(text.slice(offset));
    }
  });
}

function bytesOf(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

async function* pieces(...texts: string[]): AsyncIterable<Uint8Array> {
  for (const text of texts) yield bytesOf(text);
}

async function* failing(text: string, failure: Error): AsyncIterable<Uint8Array> {
  yield bytesOf(text);
  throw failure;
}

async function textOf(content: AsyncIterable<Uint8Array>): Promise<string> {
  const found: Uint8Array[] = [];
  for await (const piece of content) found.push(piece.slice());
  return Buffer.concat(found).toString();
}

async function partialSize(place: ContentPlace, id: string): Promise<number> {
  const partial = await place.resume(id);
  await partial.close();
  return partial.size;
}

async function idsOf(place: ContentPlace): Promise<string[]> {
  const ids: string[] = [];
  for await (const id of place.ids()) ids.push(id);
  return ids;
}

function digestsOf(text: string): { readonly id: string; readonly proof: string } {
  const digest = (content: string): string =>
    createHash("sha256").update(content).digest("base64url");
  return { id: digest(text), proof: digest(text + CONTENT_PROOF) };
}
