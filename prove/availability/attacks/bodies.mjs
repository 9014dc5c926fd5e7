/**
 * Attacks with bodies that are expensive to decode: long numbers, very many small values, deep and
 * unusual shapes, in JSON, CBOR and forms.
 */

const KB = 1024;
const MB = 1024 * KB;
const BODY_MAX = 8 * MB - KB;
const LOGIN_MAX = 64 * KB - 16;
const EXECUTE = "/api/v4/store/execute";

const HEAD = '{"statement":"SELECT 1 AS a FROM system:dual","args":{"a":';
const TAIL = "}}";

/** Repeats `part` up to `size` bytes, between `first` and `last`. */
function filled(size, { first = "", part, last = "" }) {
  const room = size - Buffer.byteLength(first) - Buffer.byteLength(last);
  const count = Math.floor(room / Buffer.byteLength(part));
  return Buffer.from(first + part.repeat(count) + last);
}

/** A body of execute whose argument repeats `part`. */
function argument(size, { first = "", part, last = "" }) {
  return filled(size, { first: HEAD + first, part, last: last + TAIL });
}

/** An object with very many different keys. */
function manyKeys(size, isNested) {
  const texts = [];
  for (let i = 0, length = 0; length < size - 400; i++) {
    const text = isNested ? `"${i.toString(36)}":{}` : `"${i.toString(36)}":0`;
    length += text.length + 1;
    texts.push(text);
  }
  return texts.join(",");
}

/** Shapes of a JSON value of about `size` bytes, each as [name, bytes in execute]. */
function jsonShapes(size) {
  const list = (part) => argument(size, { first: "[", part: `${part},`, last: `${part}]` });
  return {
    zeros: list("0"),
    arrays: list("[]"),
    objects: list("{}"),
    texts: list('""'),
    nulls: list("null"),
    escapes: argument(size, { first: '"', part: "\\u00e9", last: '"' }),
    quotes: argument(size, { first: '"', part: '\\"', last: '"' }),
    blanks: argument(size, { first: "", part: " ", last: "1" }),
    nested: list("[[[[[[[[[[[[[[[[0]]]]]]]]]]]]]]]]"),
    deep: argument(size, { first: "", part: "[", last: "" }),
    "deep objects": argument(size, { first: "", part: '{"":', last: "" }),
    keys: Buffer.from(`${HEAD}{${manyKeys(size, false)}}${TAIL}`),
    "keys of objects": Buffer.from(`${HEAD}{${manyKeys(size, true)}}${TAIL}`),
    "same key": argument(size, { first: "{", part: '"a":[],', last: '"b":0}' }),
    unfinished: argument(size, { first: "[", part: "[],", last: "" }),
    "broken text": Buffer.concat([
      filled(size - 64, { first: `${HEAD}"`, part: "é" }),
      Buffer.from([0xff, 0x22, 0x7d, 0x7d]),
    ]),
  };
}

/** Shapes of numbers. */
function numberShapes(size) {
  const one = (first, part, last = "") => argument(size, { first, part, last });
  return {
    digits: one("0.", "3"),
    "integer digits": one("", "7"),
    "negative digits": one("-", "9"),
    exponent: one("1e", "0", "1"),
    "negative exponent": one("1e-", "9"),
    "digits with an exponent": one("0.", "3", "e-5000"),
    "wrong digits": one("0.", "3", "x"),
    "digits in a text": one('"', "3", '"'),
    "runs of 15": one("[", "123456789012345,", "0]"),
    "runs of 17": one("[", "0.3333333333333333,", "0]"),
    "runs of 40": one("[", `${"7".repeat(40)},`, "0]"),
    "runs of 400": one("[", `0.${"3".repeat(400)},`, "0]"),
    "runs of 5000": one("[", `0.${"3".repeat(5_000)},`, "0]"),
    "texts and runs": one("[", `"${"3".repeat(17)}",`, "0]"),
    "escaped runs": one('["', `\\"${"3".repeat(30)}`, '"]'),
  };
}

/** Repeats the same bodies, `count` at once. */
async function postAll(target, count, { bodies, key, path = EXECUTE, type }) {
  await target.many(count, (i, round) =>
    target.send({ path, key, type, body: bodies[(i + round) % bodies.length] }),
  );
}

function loginPath(target) {
  return `/${target.appId}/auth/login`;
}

function login(name, what, bodiesOf, { count = 4, type } = {}) {
  return {
    name,
    credential: "none",
    what,
    run: (target) => postAll(target, count, { bodies: bodiesOf(), path: loginPath(target), type }),
  };
}

function execute(name, what, bodiesOf, { count = 4, type } = {}) {
  return {
    name,
    credential: "empty key",
    what,
    run: (target) => postAll(target, count, { bodies: bodiesOf(), key: target.keys.empty, type }),
  };
}

/** Uses another address for each connection, so that no limit per address applies. */
function loginFromEverywhere(target) {
  const body = filled(LOGIN_MAX, { first: '{"a":0.', part: "3", last: "}" });
  return target.many(16, (i, round) =>
    target.send({
      path: loginPath(target),
      body,
      address: `127.0.1.${1 + ((i * 16 + round) % 250)}`,
    }),
  );
}

/** CBOR: a map with statement and args, whose `a` is an array of `count` times `item`. */
function cborArgument(size, item, { isIndefinite = false } = {}) {
  const head = Buffer.concat([
    Buffer.from([0xa2, 0x69]),
    Buffer.from("statement"),
    Buffer.from([0x78, 32]),
    Buffer.from("SELECT 1 AS a FROM system:dual  "),
    Buffer.from([0x64]),
    Buffer.from("args"),
    Buffer.from([0xa1, 0x61, 0x61]),
  ]);
  const count = Math.floor((size - head.length - 16) / item.length);
  const length = Buffer.alloc(5);
  length[0] = 0x9a;
  length.writeUInt32BE(count, 1);
  const items = Buffer.alloc(count * item.length);
  for (let i = 0; i < items.length; i += item.length) item.copy(items, i);
  return isIndefinite
    ? Buffer.concat([head, Buffer.from([0x9f]), items, Buffer.from([0xff])])
    : Buffer.concat([head, length, items]);
}

const EMPTY_VALUES = [0x80, 0xa0, 0x40, 0x60, 0x9f, 0xf6, 0x00].map((byte) =>
  byte === 0x9f ? Buffer.from([0x9f, 0xff]) : Buffer.from([byte]),
);

function cborEmpty() {
  return EMPTY_VALUES.slice(0, 5).flatMap((item) => [
    cborArgument(BODY_MAX, item),
    cborArgument(BODY_MAX, item, { isIndefinite: true }),
  ]);
}

function hex(text) {
  return Buffer.from(text, "hex");
}

function cborShapes() {
  return [
    // Small maps, floats, tagged bignums, nested tags, empty chunks, and a length without content.
    cborArgument(BODY_MAX, hex("a1616100")),
    cborArgument(BODY_MAX, hex("fb3fd5555555555555")),
    cborArgument(BODY_MAX, hex("c24101")),
    cborArgument(BODY_MAX, hex("c249010000000000000000")),
    cborArgument(BODY_MAX, hex("c6c6c6c6c6c6c6c6f6")),
    cborArgument(BODY_MAX, hex("7f6060606060ff")),
    cborArgument(BODY_MAX, hex("5f4040404040ff")),
    cborArgument(BODY_MAX, hex("7f61616161ff")),
    cborArgument(BODY_MAX, hex("1bffffffffffffffff")),
    cborArgument(BODY_MAX, hex("9f")),
    cborArgument(BODY_MAX, hex("81")),
    cborArgument(BODY_MAX, hex("c6")),
    cborArgument(BODY_MAX, hex("9b7fffffffffffffff")),
    Buffer.concat([hex("bf"), Buffer.alloc(BODY_MAX, 0x60), hex("ff")]),
    Buffer.concat([hex("c25a007ffbf0"), Buffer.alloc(0x7ffbf0, 0x99)]),
  ];
}

/** Forms with many parts, long headers, and boundaries that almost match. */
function forms() {
  const part = '--b\r\nContent-Disposition: form-data; name="f"\r\n\r\n\r\n';
  const head = '--b\r\nContent-Disposition: form-data; name="file"; filename="f"\r\n\r\n';
  return [
    filled(BODY_MAX, { part, last: "--b--\r\n" }),
    filled(BODY_MAX, { first: head, part: "\r\n--", last: "\r\n--b--\r\n" }),
    filled(BODY_MAX, { first: head, part: "\r", last: "\r\n--b--\r\n" }),
    filled(BODY_MAX, { first: "--b\r\n", part: "a: b\r\n", last: "\r\n" }),
    filled(BODY_MAX, { first: "--b\r\na: ", part: "x" }),
    filled(BODY_MAX, { part: "\r\n" }),
  ];
}

export const BODY_ATTACKS = [
  login("login-digits", "64 KB of digits as the body of a login", () => [
    filled(LOGIN_MAX, { first: '{"a":0.', part: "3", last: "}" }),
    filled(LOGIN_MAX, { first: '{"provider":"x","token":', part: "7", last: "}" }),
  ]),
  {
    name: "login-everywhere",
    credential: "none",
    what: "64 KB of digits as the body of a login, from 250 addresses",
    run: loginFromEverywhere,
  },
  login(
    "login-shapes",
    "64 KB of every other shape of JSON as the body of a login",
    () => {
      const shapes = [
        ...Object.values(jsonShapes(LOGIN_MAX)),
        ...Object.values(numberShapes(LOGIN_MAX)),
      ];
      return shapes.map((body) => Buffer.concat([Buffer.from('{"a":'), body, Buffer.from("}")]));
    },
    { count: 16 },
  ),
  login(
    "login-forms",
    "64 KB of fields and escapes as the form of a login",
    () => [
      filled(LOGIN_MAX, { part: "a=b&" }),
      filled(LOGIN_MAX, { part: "&" }),
      filled(LOGIN_MAX, { part: "%25" }),
      filled(LOGIN_MAX, { part: "=" }),
      filled(LOGIN_MAX, { first: "token=", part: "%e2%82%ac" }),
    ],
    { count: 16, type: "application/x-www-form-urlencoded" },
  ),
  execute("json-digits-256k", "256 KB of digits in the body of execute", () =>
    Object.values(numberShapes(256 * KB)),
  ),
  execute("json-digits-8m", "8 MB of digits, and of numbers, in the body of execute", () =>
    Object.values(numberShapes(BODY_MAX)),
  ),
  execute("json-dense", "8 MB of very many small values as JSON", () =>
    Object.values(jsonShapes(BODY_MAX)),
  ),
  execute(
    "json-dense-20",
    "8 MB of very many small values as JSON, twenty at once",
    () => Object.values(jsonShapes(BODY_MAX)),
    { count: 20 },
  ),
  execute("cbor-empty-6", "8 MB of empty values as CBOR, six at once", cborEmpty, {
    count: 6,
    type: "application/cbor",
  }),
  execute("cbor-empty-20", "8 MB of empty values as CBOR, twenty at once", cborEmpty, {
    count: 20,
    type: "application/cbor",
  }),
  execute("cbor-shapes", "8 MB of tags, chunks, bignums and lengths as CBOR", cborShapes, {
    count: 6,
    type: "application/cbor",
  }),
  {
    name: "form-shapes",
    credential: "writer's key",
    what: "forms of very many parts, headers and broken boundaries at the upload of attachments",
    run: (target) =>
      postAll(target, 6, {
        bodies: forms(),
        key: target.keys.writer,
        path: "/api/v4/attachments/upload",
        type: "multipart/form-data; boundary=b",
      }),
  },
];
