/**
 * Bodies become values in turns, within a bound of memory that is charged before it is taken, and one
 * caller does not take it from the others.
 */

import { encodeCbor, type Value } from "@bigpeer/protocol";
import { expect, test } from "vitest";
import { countTurns } from "../../../protocol/test/support/step-count.ts";
import { isFullSize, oneOf, sized } from "../../../protocol/test/support/test-size.ts";
import { BodyDecoder, type DecodedBody } from "../../src/http/body-decoder.ts";
import { DecodeQueue } from "../../src/http/decode-queue.ts";
import { type Decode, decoderOf } from "../../src/http/request-format.ts";
import {
  BODY_VALUES_PER_CREDENTIAL_SIZE_MAX,
  BODY_VALUES_SIZE_MAX,
} from "../../src/limits/limits.ts";
import { LoopShare } from "../../src/limits/loop-share.ts";

const JSON_BODY = decoderOf({ "content-type": "application/json" });
const CBOR_BODY = decoderOf({ "content-type": "application/cbor" });

/** A share that gives way after each turn, and counts them. */
class CountedShare extends LoopShare {
  turns = 0;

  override turn(): Promise<number> {
    this.turns++;
    return super.turn();
  }
}

const BOUNDS = { max: BODY_VALUES_SIZE_MAX, perOwnerMax: BODY_VALUES_PER_CREDENTIAL_SIZE_MAX };

function decoder(share?: LoopShare): BodyDecoder {
  return new BodyDecoder(BOUNDS, share);
}

const bytesOf = (text: string): Uint8Array => new Uint8Array(Buffer.from(text));

/** A list of as many empty lists as fit into so many bytes of CBOR. */
function emptyLists(size: number): Uint8Array {
  const bytes = new Uint8Array(size).fill(0x80);
  const count = size - 5;
  bytes.set([0x9a, count >>> 24, count >>> 16, count >>> 8, count]);
  return bytes;
}

const MIB = 1024 * 1024;

test("[H50] a short body is decoded synchronously", () => {
  const bodies = decoder();
  const body = bodies.decode(bytesOf('{"a":[1,2,{"b":"c"}]}'), JSON_BODY, "one");
  expect(body).not.toBeInstanceOf(Promise);
  expect((body as DecodedBody).value).toEqual({ a: [1, 2, { b: "c" }] });
  expect(bodies.size).toBeGreaterThan(0);
  (body as DecodedBody).release();
  expect(bodies.size).toBe(0);
});

test("[H50] a long body is decoded in slices, in JSON and in CBOR", async () => {
  const documents = Array.from({ length: sized(8_000, 20_000) }, (_, i) => ({
    _id: `d${i}`,
    n: i,
    tags: ["a"],
  }));
  const value: Value = { commands: documents };
  for (const [bytes, decode] of [
    [bytesOf(JSON.stringify(value)), JSON_BODY],
    [encodeCbor(value), CBOR_BODY],
  ] as const) {
    const share = new CountedShare(0);
    const bodies = decoder(share);
    const body = await bodies.decode(bytes, decode, "one");
    expect(body.value).toEqual(value);
    expect(share.turns).toBeGreaterThan(sized(2, 4));
    expect(bodies.size).toBeGreaterThan(bytes.length);
    body.release();
    expect(bodies.size).toBe(0);
  }
});

/** Steps of one turn: some milliseconds. */
const TURN_STEPS_MAX = 5_000_000;

const LONG_BODIES: readonly [string, Decode, Uint8Array][] = [
  ["lists in JSON", JSON_BODY, bytesOf(`[${"[],".repeat(60_000)}0]`)],
  ["numbers in JSON", JSON_BODY, bytesOf(`[${"0,".repeat(250_000)}0]`)],
  ["digits in JSON", JSON_BODY, bytesOf(`[${"0.3333333333333333333,".repeat(40_000)}0]`)],
  ["a long text in JSON", JSON_BODY, bytesOf(`"${"\\n".repeat(500_000)}"`)],
  ["new keys in JSON", JSON_BODY, bytesOf(`{${keys(60_000)}}`)],
  ["numbers in CBOR", CBOR_BODY, encodeCbor(Array.from({ length: 400_000 }, () => 0))],
  ["objects in CBOR", CBOR_BODY, encodeCbor(Array.from({ length: 50_000 }, () => ({ a: 0 })))],
  ["a long text in CBOR", CBOR_BODY, encodeCbor("ä".repeat(4_000_000))],
];
test.each(oneOf(2, LONG_BODIES))("[V10] [H50] no slice is long: %s", (_, decode, bytes) => {
  const turns = countTurns(decode(bytes, () => {}));
  expect(turns.length).toBeGreaterThan(3);
  expect(Math.max(...turns)).toBeLessThan(TURN_STEPS_MAX);
});

function keys(count: number): string {
  return Array.from({ length: count }, (_, i) => `"key ${i}":0`).join(",");
}

test("[H50] a body whose values exceed the memory limit of one is 413, before the memory is taken", async () => {
  const bodies = decoder();
  const bytes = bytesOf(`[${"[0],".repeat(2 * MIB - 1)}0]`);
  await expect(bodies.decode(bytes, JSON_BODY, "one")).rejects.toMatchObject({ status: 413 });
  expect(bodies.size).toBe(0);
});

const LONG = 60_000;

test.runIf(isFullSize)(
  "[H50] CBOR of empty values is refused before many of them are created",
  async () => {
    const bodies = decoder();
    let charged = 0;
    const watched: Decode = (bytes, charge) =>
      CBOR_BODY(bytes, (more) => {
        charged += more;
        charge(more);
      });
    const refused = bodies.decode(emptyLists(8 * MIB), watched, "one");
    await expect(refused).rejects.toMatchObject({ code: "cbor.malformed" });
    expect(charged).toBeLessThan(64 * MIB);
    expect(bodies.size).toBe(0);
  },
  LONG,
);

test.runIf(isFullSize)(
  "[H50] values beyond the memory of all bodies are 503, and one caller leaves some for others",
  async () => {
    const bodies = decoder();
    const bytes = bytesOf(`[${"[0],".repeat(MIB / 8)}0]`);
    const held: DecodedBody[] = [];
    const fill = async (caller: string): Promise<unknown> => {
      for (;;) {
        try {
          held.push(await bodies.decode(bytes, JSON_BODY, caller));
        } catch (error) {
          return error;
        }
      }
    };
    expect(await fill("one")).toMatchObject({ status: 503, headers: { "retry-after": "1" } });
    expect(bodies.size).toBeLessThanOrEqual(BODY_VALUES_PER_CREDENTIAL_SIZE_MAX);
    const count = held.length;
    expect(await fill("two")).toMatchObject({ status: 503 });
    expect(held.length).toBeGreaterThan(count);
    expect(bodies.size).toBeLessThanOrEqual(BODY_VALUES_SIZE_MAX);
    for (const body of held) body.release();
    expect(bodies.size).toBe(0);
  },
);

test("[H50] long bodies are decoded one at a time, and callers alternate", async () => {
  const queue = new DecodeQueue();
  const order: string[] = [];
  let running = 0;
  const work = (name: string) => async (): Promise<void> => {
    running++;
    order.push(name);
    await new Promise((resolve) => setImmediate(resolve));
    expect(running--).toBe(1);
  };
  const jobs = ["a1", "a2", "a3", "b1", "a4", "b2", "c1"];
  await Promise.all(jobs.map((name) => queue.run(name.slice(0, 1), work(name))));
  expect(order).toEqual(["a1", "a2", "b1", "c1", "a3", "b2", "a4"]);
});
