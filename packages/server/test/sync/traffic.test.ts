import { encodeMessage } from "@bigpeer/protocol";
import { expect, test } from "vitest";
import { kindOf, TrafficMeter } from "../../src/sync/traffic.ts";

test("the kind of a message is found without decoding it, and an invalid one is `other`", () => {
  const site = "0123456789abcdef";
  expect(kindOf(encodeMessage({ t: "bye", code: "busy", message: "m" }))).toBe("bye");
  expect(kindOf(encodeMessage({ t: "forked", site, number: 1 }))).toBe("forked");
  expect(kindOf(encodeMessage({ t: "unsubscribed", id: 1, code: "c", message: "m" }))).toBe(
    "unsubscribed",
  );
  const none = [[], [0xa1], [0xa1, 0x61, 0x74], [0xa1, 0x61, 0x74, 0x63, 0x66, 0x6f, 0x6f]];
  for (const bytes of none) expect(kindOf(Uint8Array.from(bytes))).toBe("other");
  expect(kindOf(Uint8Array.from([0xa1, 0x61, 0x74, 0x78, 0x18]))).toBe("other");
});

test("messages are counted by kind, and their bytes together", () => {
  const meter = new TrafficMeter();
  meter.add("ping", 3);
  meter.add("ping", 4);
  meter.add("bye", 5);
  expect([[...meter.frames], meter.bytes]).toEqual([
    [
      ["ping", 2],
      ["bye", 1],
    ],
    12,
  ]);
});
