/**
 * Messages as bytes: lossless, checked field by field, deaf to hostile bytes; and the shape of the
 * protocol, which does not change without its version.
 */

import { createHash } from "node:crypto";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { encodeCbor } from "../../src/cbor.ts";
import { PeerError } from "../../src/error.ts";
import {
  type LinkMessage,
  type PeerMessage,
  type ServerMessage,
  SYNC_MESSAGE_BYTES_MAX,
  SYNC_SHAPE,
  SYNC_VERSION,
} from "../../src/sync/message.ts";
import {
  decodeLinkMessage,
  decodePeerMessage,
  decodePeerMessageIncremental,
  decodeServerMessage,
  describeMessages,
  encodeMessage,
} from "../../src/sync/message-codec.ts";
import type { Value, ValueObject } from "../../src/value.ts";
import { failureOf } from "../support/failure.ts";
import { LINK_MESSAGES, PEER_MESSAGES, SERVER_MESSAGES } from "../support/messages.ts";
import { runs, sized } from "../support/test-size.ts";
import { isIdentical, nested } from "../support/values.ts";

const peerMessages = fc.oneof(...Object.values(PEER_MESSAGES)) as fc.Arbitrary<PeerMessage>;
const serverMessages = fc.oneof(...Object.values(SERVER_MESSAGES)) as fc.Arbitrary<ServerMessage>;

function asValue(message: PeerMessage | ServerMessage | LinkMessage): Value {
  return message as unknown as Value;
}

test.each(Object.entries(PEER_MESSAGES))(
  "[S1] %s of a peer is decoded as it was encoded",
  (_, kind) => {
    fc.assert(
      fc.property(kind as fc.Arbitrary<PeerMessage>, (message) => {
        const read = decodePeerMessage(encodeMessage(message));
        expect(isIdentical(asValue(read), asValue(message))).toBe(true);
      }),
      { numRuns: sized(20, 200) },
    );
  },
);

test.each(Object.entries(SERVER_MESSAGES))(
  "[S1] %s of a server is decoded as it was encoded",
  (_, kind) => {
    fc.assert(
      fc.property(kind as fc.Arbitrary<ServerMessage>, (message) => {
        const read = decodeServerMessage(encodeMessage(message));
        expect(isIdentical(asValue(read), asValue(message))).toBe(true);
      }),
      { numRuns: sized(20, 200) },
    );
  },
);

test.each(Object.entries(LINK_MESSAGES))(
  "[S47] %s of a link is decoded as it was encoded",
  (_, kind) => {
    fc.assert(
      fc.property(kind as fc.Arbitrary<LinkMessage>, (message) => {
        const read = decodeLinkMessage(encodeMessage(message));
        expect(isIdentical(asValue(read), asValue(message))).toBe(true);
      }),
      { numRuns: sized(20, 200) },
    );
  },
);

test("[S1] a Buffer is decoded like other bytes, and the message does not change with it", () => {
  const digest = new Uint8Array(32).fill(7);
  const bytes = Buffer.from(encodeMessage({ t: "upload", number: 1, digest, steps: [] }));
  const read = decodePeerMessage(bytes);
  bytes.fill(0);
  expect(read).toEqual({ t: "upload", number: 1, digest: new Uint8Array(32).fill(7), steps: [] });
});

/** What decoding throws is a PeerError of the one code, whatever the bytes. */
function expectReadOrMalformed(bytes: Uint8Array): void {
  for (const decode of [decodePeerMessage, decodeServerMessage, decodeLinkMessage]) {
    try {
      decode(bytes);
    } catch (error) {
      expect(error).toBeInstanceOf(PeerError);
      expect((error as PeerError).code).toBe("sync.malformed");
    }
  }
}

test("[S1] hostile bytes are decoded or refused, and never crash", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => expectReadOrMalformed(bytes)),
    { numRuns: runs(3000) },
  );
});

test("[S1] messages with changed or missing bytes are decoded or refused, and never crash", () => {
  const flips = fc.array(fc.tuple(fc.nat(), fc.nat(255)), { maxLength: 4 });
  fc.assert(
    fc.property(
      fc.oneof(peerMessages, serverMessages),
      flips,
      fc.option(fc.nat()),
      (message, changes, end) => {
        const bytes = encodeMessage(message);
        for (const [place, byte] of changes) bytes[place % bytes.length] = byte;
        expectReadOrMalformed(end === null ? bytes : bytes.subarray(0, end % bytes.length));
      },
    ),
    { numRuns: runs(3000) },
  );
});

test("[S1] a field with any other value is decoded or refused, and never crashes", () => {
  const others: readonly Value[] = [
    null,
    true,
    -1,
    0.5,
    -0,
    Number.NaN,
    2n ** 60n,
    "text",
    new Uint8Array(3),
    [],
    [[]],
    [["put"]],
    [["drop", null]],
    [["drop", 1.5]],
    {},
    { t: 1 },
    nested(66, 1),
  ];
  fc.assert(
    fc.property(
      fc.oneof(peerMessages, serverMessages),
      fc.nat(),
      fc.constantFrom(...others),
      (message, place, other) => {
        const names = Object.keys(message);
        const name = names[place % names.length] ?? "t";
        expectReadOrMalformed(encodeCbor({ ...(asValue(message) as ValueObject), [name]: other }));
      },
    ),
    { numRuns: runs(3000) },
  );
});

const SITE = "00000000000000aa";
const HELLO: ValueObject = {
  t: "hello",
  version: 1,
  token: "k",
  site: SITE,
  peer: { key: "p", deviceName: "d", os: "o", sdk: "s", metadata: {} },
  now: 1,
};
const UPLOAD: ValueObject = { t: "upload", number: 1, digest: new Uint8Array(32), steps: [] };
const DOCUMENTS: ValueObject = { t: "documents", filter: new Uint8Array(16), entries: [] };

test("[S1] unknown fields are ignored, also nested ones", () => {
  const bytes = encodeCbor({
    ...HELLO,
    peer: { ...(HELLO["peer"] as ValueObject), colour: "red" },
    later: [1],
    ["__proto__"]: { app: "no" },
  });
  expect(decodePeerMessage(bytes)).toEqual(HELLO);
});

test.each<[string, ValueObject, string]>([
  ["a site", { ...HELLO, site: "aa" }, "hello.site"],
  ["the zero site", { ...HELLO, site: "0000000000000000" }, "hello.site"],
  ["a version", { ...HELLO, version: 0 }, "hello.version"],
  ["a clock", { ...HELLO, now: 1.5 }, "hello.now"],
  ["a clock beyond 2^53", { ...HELLO, now: 2n ** 60n }, "hello.now"],
  ["a token", { ...HELLO, token: "x".repeat(65_537) }, "hello.token"],
  [
    "a device name",
    { ...HELLO, peer: { ...(HELLO["peer"] as ValueObject), deviceName: "x".repeat(257) } },
    "hello.peer.deviceName",
  ],
  [
    "metadata",
    { ...HELLO, peer: { ...(HELLO["peer"] as ValueObject), metadata: { m: "x".repeat(16_384) } } },
    "hello.peer.metadata",
  ],
  ["arguments", { t: "subscribe", id: 1, query: "q", args: [] }, "subscribe.args"],
  [
    "arguments too deep",
    { t: "subscribe", id: 1, query: "q", args: { a: nested(64, 1) } },
    "subscribe.args",
  ],
  [
    "a cursor",
    {
      t: "subscribe",
      id: 1,
      query: "q",
      args: {},
      cursor: { history: "h", filter: new Uint8Array(15), txn: 0 },
    },
    "subscribe.cursor.filter",
  ],
  [
    "an id in a cursor",
    {
      t: "subscribe",
      id: 1,
      query: "q",
      args: {},
      cursor: { history: "h", filter: new Uint8Array(16), txn: 0, after: Number.NaN },
    },
    "subscribe.cursor.after",
  ],
  ["a digest", { ...UPLOAD, digest: new Uint8Array(31) }, "upload.digest"],
  ["a number", { ...UPLOAD, number: 0 }, "upload.number"],
  ["a step", { ...UPLOAD, steps: [{ time: 1, operations: [] }, 7] }, "upload.steps[1]"],
  ["operations", { ...UPLOAD, steps: [{ time: 1, operations: {} }] }, "upload.steps[0].operations"],
  ["a wanted id", { t: "want", filter: new Uint8Array(16), ids: ["a", 0.5] }, "want.ids[1]"],
  ["a mark", { t: "want", filter: new Uint8Array(16), ids: [], isLast: false }, "want.isLast"],
  [
    "metadata of later",
    { t: "metadata", metadata: { m: "x".repeat(16_384) } },
    "metadata.metadata",
  ],
  ["a switch", { t: "watch", isOn: 1 }, "watch.isOn"],
  ["a run", { t: "answer", id: 0, items: [] }, "answer.id"],
  ["a row too deep", { t: "answer", id: 1, items: [nested(65, 1)] }, "answer.items[0]"],
  [
    "more warnings than are told",
    {
      t: "answer",
      id: 1,
      items: [],
      end: {
        elapsedMs: 1,
        totalWarnings: 11,
        warnings: Array.from({ length: 11 }, () => ({ description: "w" })),
      },
    },
    "answer.end.warnings",
  ],
  ["a code", { t: "bye", code: "bored", message: "" }, "bye.code"],
])(
  "[S1] a peer's message with a wrong field is refused with its place: %s",
  (_, message, place) => {
    const error = failureOf(() => decodePeerMessage(encodeCbor(message)));
    expect([error.code, error.at]).toEqual(["sync.malformed", place]);
  },
);

test.each<[string, ValueObject, string]>([
  [
    "a kind of entry",
    {
      ...DOCUMENTS,
      entries: [
        ["drop", 1],
        ["swap", 1],
      ],
    },
    "entries[1][0]",
  ],
  ["an entry too long", { ...DOCUMENTS, entries: [["drop", 1, 2]] }, "entries[0]"],
  ["a state", { ...DOCUMENTS, entries: [["put", 1, 2, [{}, null, "m"]]] }, "entries[0][3][2]"],
  ["a range", { ...DOCUMENTS, range: { after: null } }, "range.after"],
])(
  "[S1] a server's message with a wrong field is refused with its place: %s",
  (_, message, place) => {
    const error = failureOf(() => decodeServerMessage(encodeCbor(message)));
    expect([error.code, error.at]).toEqual(["sync.malformed", `documents.${place}`]);
  },
);

test("[S1] operations with a wrong shape are passed on: the store answers them as refused", () => {
  const steps = [{ time: -1, operations: [7, { kind: "explode" }], more: 1 }];
  expect(decodePeerMessage(encodeCbor({ ...UPLOAD, steps }))).toEqual({ ...UPLOAD, steps });
});

test("[S1] missing fields, unknown kinds, other types than a map and messages of the other side are refused", () => {
  const { token: _, ...withoutToken } = HELLO;
  const cases: readonly (readonly [Value, string])[] = [
    [withoutToken, "hello.token"],
    [{ t: "dance" }, "t"],
    [{ t: "constructor" }, "t"],
    [{ t: 7 }, "t"],
    [{}, "t"],
    [[], "t"],
    ["hello", "t"],
    [DOCUMENTS, "t"],
  ];
  for (const [message, place] of cases) {
    const error = failureOf(() => decodePeerMessage(encodeCbor(message)));
    expect([error.code, error.at]).toEqual(["sync.malformed", place]);
  }
  expect(failureOf(() => decodeServerMessage(encodeCbor(HELLO))).at).toBe("t");
});

test("[S1] a message above the size limit is refused before it is decoded", () => {
  const error = failureOf(() => decodePeerMessage(new Uint8Array(SYNC_MESSAGE_BYTES_MAX + 1)));
  expect(error.message).toBe("expected at most 16777216 bytes, found 16777217");
});

test("[S17] a document of the maximum depth passes in every message that carries one", () => {
  const fields = { a: nested(63, 1) };
  const entry = ["put", 1, 2, [fields, null, new Uint8Array(0)]] as const;
  const documents = { ...DOCUMENTS, entries: [entry] };
  expect(decodeServerMessage(encodeCbor(documents))).toEqual(documents);
  const outcome = { site: SITE, number: 1, kind: "applied", txn: 1, reason: "" };
  const committed = {
    t: "committed",
    txn: 1,
    outcomes: [{ ...outcome, documents: [["c", entry]] }],
  };
  expect(decodeServerMessage(encodeCbor(committed))).toEqual(committed);
  const edit = { kind: "set", path: ["a"], value: nested(63, 1) };
  const operations = [{ kind: "update", collection: "c", id: 1, edits: [edit] }];
  const upload = { ...UPLOAD, steps: [{ time: 1, operations }] };
  expect(decodePeerMessage(encodeCbor(upload))).toEqual(upload);
});

test("the shape of the protocol does not change without a new version", () => {
  const shape = createHash("sha256").update(describeMessages().join("\n")).digest("hex");
  // Another shape is another protocol: give it the next version, and write its hash beside it.
  expect([SYNC_VERSION, shape]).toEqual([2, SYNC_SHAPE]);
});

test("every message kind is in the description with all its fields", () => {
  const lines = describeMessages();
  expect(lines).toHaveLength(
    [PEER_MESSAGES, SERVER_MESSAGES, LINK_MESSAGES].flatMap(Object.keys).length,
  );
  expect(lines).toContain("peer unsubscribe: id: an integer from 0 to 2^53-1");
  expect(lines).toContain("server rights: rights: 16 bytes; expires?: an integer from 0 to 2^53-1");
});

/** What comes of a message in turns, and after how many of them. */
function decodeTurns(bytes: Uint8Array): { message: PeerMessage; turns: number } {
  const decoding = decodePeerMessageIncremental(bytes);
  for (let turns = 1; ; turns++) {
    const { done, value } = decoding.next();
    if (done === true) return { message: value, turns };
  }
}

test("[S64] a message that takes long to decode is decoded in slices, with the same result", () => {
  const numbers = Array.from({ length: sized(200_000, 1_000_000) }, (_, i) => i % 20);
  const answer: PeerMessage = { t: "answer", id: 1, items: numbers };
  const { message, turns } = decodeTurns(encodeMessage(answer));
  expect(message).toEqual(answer);
  expect(turns).toBeGreaterThan(sized(2, 10));
});

test("[S64] many wanted ids are checked in slices", () => {
  const ids = Array.from({ length: 50_000 }, (_, i) => [i % 20]);
  const want: PeerMessage = { t: "want", filter: new Uint8Array(16), ids };
  const { message, turns } = decodeTurns(encodeMessage(want));
  expect(message).toEqual(want);
  expect(turns).toBeGreaterThan(50);
});

test("[S64] a message that is decoded quickly is decoded at once", () => {
  fc.assert(
    fc.property(peerMessages, (message) => {
      const bytes = encodeMessage(message);
      expect(decodeTurns(bytes)).toEqual({ message: decodePeerMessage(bytes), turns: 1 });
    }),
    { numRuns: runs(300) },
  );
  const row = { name: "n".repeat(200), count: 7 };
  const items = Array.from({ length: 2000 }, () => row);
  expect(decodeTurns(encodeMessage({ t: "answer", id: 1, items })).turns).toBe(1);
});

test("[S64] errors of a message are the same in slices and at once", () => {
  const many = Array.from({ length: sized(120_000, 500_000) }, () => 1);
  for (const wrong of [
    { t: "answer", id: 0, items: many },
    { t: "nothing", items: many },
    { t: "metadata", metadata: { many: [...many, ...many] } },
    { t: "answer", id: 1, items: [...many, nested(65, 1)] },
    { t: "want", filter: new Uint8Array(16), ids: many },
  ] as unknown as PeerMessage[]) {
    const bytes = encodeMessage(wrong);
    const { message } = failureOf(() => decodePeerMessage(bytes));
    expect(failureOf(() => decodeTurns(bytes)).message).toBe(message);
  }
  const bytes = encodeMessage({ t: "answer", id: 1, items: many });
  expect(failureOf(() => decodeTurns(bytes.slice(0, -1))).code).toBe("sync.malformed");
});

test("[S61] the metadata of a peer are limited in size, and not read beyond half a megabyte", () => {
  const metadata = { text: "x".repeat(600_000) };
  const { message } = failureOf(() =>
    decodePeerMessage(encodeMessage({ t: "metadata", metadata })),
  );
  expect(message).toBe("expected at most 524288 bytes of metadata, found 600032");
});
