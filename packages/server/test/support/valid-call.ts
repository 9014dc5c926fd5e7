/**
 * A valid call of each operation of the data API, and for each of its fields what may stand there:
 * so that a test can put in something that may not.
 *
 * They are about the collection `cars`, which must be there and have a document `c1`, and about an
 * attachment with the content ATTACHED, which must have been uploaded.
 */

import { createHash } from "node:crypto";
import type { Value, ValueObject } from "@bigpeer/protocol";
import type { OperationName } from "./data-api.ts";

export type Kind = "null" | "boolean" | "number" | "text" | "array" | "object" | "binary";

export interface CallField {
  readonly path: readonly (string | number)[];
  /** Kinds of which a value may be right here. */
  readonly takes: readonly Kind[];
  readonly isRequired: boolean;
  /** Values of a right kind that are wrong all the same. */
  readonly wrong: readonly Value[];
}

export interface ValidCall {
  readonly operation: OperationName;
  readonly body: ValueObject;
  readonly fields: readonly CallField[];
  /** Where any value may stand. */
  readonly free: readonly (string | number)[];
}

type Path = CallField["path"];

function required(path: Path, takes: readonly Kind[], wrong: readonly Value[] = []): CallField {
  return { path, takes, isRequired: true, wrong };
}

function optional(path: Path, takes: readonly Kind[], wrong: readonly Value[] = []): CallField {
  return { path, takes: ["null", ...takes], isRequired: false, wrong };
}

const BAD_NAMES = ["", "no such collection", "carz", "x".repeat(5_000), "\0"];

const BAD_QUERIES = [
  "",
  "(",
  ")",
  "mileage >",
  "mileage > :m :m",
  "mileage > :absent",
  "$args.",
  "mileage = = 1",
  "'",
  "a[",
  "no_such_function(1) == 2",
  "true; true",
  "SELECT * FROM cars",
];

const BAD_ARGS: readonly Value[] = [{}, { n: 1 }, { M: 1 }];

const BAD_INTEGERS: readonly Value[] = [-1, 0.5, 2 ** 31, 2n ** 63n, -(2n ** 63n), 1e300];

const BAD_IDS: readonly Value[] = [1.5, "x".repeat(2_000), [1.5], { a: 0.5 }, [[[-0.25]]]];

function target(at: Path, name = "collection"): CallField[] {
  return [
    required([...at, name], ["text"], BAD_NAMES),
    required([...at, "query"], ["text"], BAD_QUERIES),
    // The filter has a parameter, so it cannot be left out here.
    required([...at, "args"], ["object"], BAD_ARGS),
  ];
}

const FORM: readonly CallField[] = [
  optional(["formatAttachment"], ["boolean"]),
  optional(["serializedAs"], ["text"], ["", "latest", "LATESTVALUES", "latestValues "]),
];

const COUNT: ValidCall = {
  operation: "count",
  body: { collection: "cars", query: "mileage > :m", args: { m: 1 } },
  fields: target([]),
  free: ["args", "m"],
};

const FIND: ValidCall = {
  operation: "find",
  body: {
    collection: "cars",
    query: "mileage > :m",
    args: { m: 1 },
    limit: 10,
    offset: 0,
    sort: [
      { property: "mileage", direction: "desc" },
      { property: "color", direction: "asc" },
    ],
    describe: false,
    formatAttachment: true,
    serializedAs: "latestValues",
  },
  fields: [
    ...target([]),
    optional(["limit"], ["number"], BAD_INTEGERS),
    optional(["offset"], ["number"], BAD_INTEGERS),
    optional(["sort"], ["array"], [[1], [null], ["mileage"], [{}], [[]], [{ property: "a" }]]),
    required(["sort", 1], ["object"], [{ direction: "asc" }, { property: "a", direction: 1 }]),
    required(["sort", 0, "property"], ["text"], ["", "(", "a b", "a..b", "1 +", "a["]),
    required(["sort", 1, "direction"], ["text"], ["", "up", "ascending", "asc "]),
    optional(["describe"], ["boolean"]),
    ...FORM,
  ],
  free: ["args", "m"],
};

const FIND_BY_ID: ValidCall = {
  operation: "findbyid",
  body: { collection: "cars", id: "c1", formatAttachment: false, serializedAs: "latestValues" },
  fields: [
    required(["collection"], ["text"], BAD_NAMES),
    required(["id"], ["boolean", "number", "text", "array", "object", "binary"], BAD_IDS),
    ...FORM,
  ],
  free: ["id"],
};

const BAD_STATEMENTS = [
  "",
  " ",
  "SELECT",
  "SELECT * FORM cars",
  "SELECT * FROM cars WHERE mileage > :absent",
  "SELECT no_such_function(1) AS r FROM cars",
  "SELECT * FROM cars; DELETE FROM cars",
  "INSERT INTO cars DOCUMENTS (:d",
  "INSERT INTO cars DOCUMENTS (:absent)",
  "DROP TABLE cars",
  "/*",
  "'",
];

const SELECT: ValidCall = {
  operation: "execute",
  body: { statement: "SELECT * FROM cars WHERE mileage > :m", args: { m: 1 } },
  fields: [
    required(["statement"], ["text"], BAD_STATEMENTS),
    required(["args"], ["object"], BAD_ARGS),
  ],
  free: ["args", "m"],
};

const INSERT: ValidCall = {
  operation: "execute",
  body: {
    statement: "INSERT INTO cars DOCUMENTS (:d)",
    args: { d: { _id: "fresh", color: "grey" } },
  },
  fields: [
    required(["statement"], ["text"], BAD_STATEMENTS),
    required(["args"], ["object"], BAD_ARGS),
    required(["args", "d"], ["array", "object"], [[1], ["a"]]),
    required(
      ["args", "d", "_id"],
      ["boolean", "number", "text", "array", "object", "binary"],
      BAD_IDS,
    ),
  ].map((field) => (field.path.at(-1) === "_id" ? { ...field, isRequired: false } : field)),
  free: ["args", "d", "color"],
};

const WRITE: ValidCall = {
  operation: "write",
  body: {
    commands: [
      {
        method: "upsert",
        collection: "cars",
        id: "fresh",
        value: { color: "green", rentals: 1, place: { city: "Rome" } },
        valueTypeOverrides: { rentals: "counter", place: "register" },
      },
      {
        method: "update",
        collection: "cars",
        query: "_id == :id",
        args: { id: "c1" },
        commands: [
          { method: "set", path: "color", value: "black" },
          { method: "increment", path: "rentals", value: 2 },
        ],
      },
      { method: "remove", collection: "cars", query: "mileage > :m", args: { m: 1 } },
    ],
  },
  fields: [
    required(["commands"], ["array"], [[1], [null], [[]], [{}], ["upsert"]]),
    required(["commands", 0], ["object"], [{ method: "upsert" }, { method: "upsert", id: 1 }]),
    required(["commands", 0, "method"], ["text"], ["", "insert", "Upsert", "update", "remove"]),
    required(["commands", 0, "collection"], ["text"], ["", "x".repeat(5_000)]),
    required(["commands", 0, "value"], ["object"], [{ _id: "other", rentals: 1, place: 1 }]),
    {
      ...required(
        ["commands", 0, "id"],
        ["boolean", "number", "text", "array", "object", "binary"],
        BAD_IDS,
      ),
      isRequired: false,
    },
    optional(["commands", 0, "valueTypeOverrides"], ["object"], [{ absent: "counter" }]),
    {
      ...required(["commands", 0, "valueTypeOverrides", "rentals"], ["text"], ["map", "Counter"]),
      isRequired: false,
    },
    required(["commands", 0, "value", "rentals"], ["number"], [0.5, 1e300]),
    required(["commands", 1], ["object"], [{ method: "update", collection: "cars" }]),
    required(["commands", 1, "method"], ["text"], ["set", "upsert", "delete"]),
    ...target(["commands", 1]),
    required(["commands", 1, "commands"], ["array"], [[1], [null], [{}], [{ method: "set" }]]),
    required(["commands", 1, "commands", 0], ["object"], [{ path: "a", value: 1 }]),
    required(["commands", 1, "commands", 0, "method"], ["text"], ["", "Set", "unset"]),
    required(["commands", 1, "commands", 0, "path"], ["text"], ["", "a..b", "(", "a b", "a["]),
    required(["commands", 1, "commands", 1, "value"], ["number"], [0.5, 1e300]),
    required(["commands", 2], ["object"], [{ method: "remove", collection: "cars" }]),
    required(["commands", 2, "method"], ["text"], ["", "delete", "REMOVE", "upsert"]),
    ...target(["commands", 2]),
  ],
  free: ["commands", 1, "commands", 0, "value"],
};

const COUNTER: ValidCall = {
  operation: "write",
  body: {
    commands: [
      { method: "upsert", collection: "cars", id: "fresh", value: { color: "green" } },
      {
        method: "update",
        collection: "cars",
        query: "true",
        commands: [{ method: "replaceWithCounter", path: "rentals", value: 2 }],
      },
    ],
  },
  fields: [
    required(["commands", 1, "commands", 0, "path"], ["text"], ["", "_id", "a[", "a b"]),
    // Null means the number that is there.
    optional(["commands", 1, "commands", 0, "value"], ["number"], [0.5, 1e300]),
    required(["commands", 0, "value"], ["object"], [{ _id: null }, { _id: 0.5 }, { _id: "b" }]),
  ].map((field) => (field.path.at(-1) === "value" ? { ...field, isRequired: true } : field)),
  free: ["commands", 0, "value", "color"],
};

/** The content of the attachment that the calls refer to. */
export const ATTACHED = "hello world";

const TOKEN = {
  id: createHash("sha256").update(ATTACHED).digest("base64url"),
  len: ATTACHED.length,
  metadata: { name: "a" },
};

const BAD_TOKENS: readonly Value[] = [
  {},
  { id: TOKEN.id },
  { len: TOKEN.len },
  { ...TOKEN, len: TOKEN.len + 1 },
  { ...TOKEN, len: String(TOKEN.len) },
  { ...TOKEN, id: "A".repeat(43) },
  { ...TOKEN, id: "A".repeat(5_000) },
  { ...TOKEN, id: "" },
  { ...TOKEN, metadata: { name: 1 } },
  { ...TOKEN, metadata: [] },
];

const ATTACH: ValidCall = {
  operation: "write",
  body: {
    commands: [
      {
        method: "update",
        collection: "cars",
        query: "true",
        commands: [{ method: "setAttachment", path: "photo", value: TOKEN }],
      },
      {
        method: "upsert",
        collection: "cars",
        id: "fresh",
        value: { photo: TOKEN, color: "green" },
        valueTypeOverrides: { photo: "attachment" },
      },
    ],
  },
  fields: [
    required(["commands", 0, "commands", 0, "value"], ["object"], BAD_TOKENS),
    required(["commands", 0, "commands", 0, "value", "id"], ["text"], ["", "x", "../lock"]),
    required(["commands", 0, "commands", 0, "value", "len"], ["number"], [0, -11, 11.5, 2n ** 63n]),
    required(["commands", 1, "value", "photo"], ["object"], BAD_TOKENS),
  ],
  free: ["commands", 1, "value", "color"],
};

const REMOTE_EXECUTE: ValidCall = {
  operation: "remote_execute",
  body: {
    statement: "SYNC CONTEXT (PEERS WHERE os = :m) SELECT * FROM cars",
    args: { m: "linux" },
  },
  fields: [
    required(
      ["statement"],
      ["text"],
      [...BAD_STATEMENTS, "SELECT * FROM cars", "SYNC CONTEXT (PEERS)", "SYNC CONTEXT SELECT 1"],
    ),
    required(["args"], ["object"], BAD_ARGS),
  ],
  free: ["args", "m"],
};

export const VALID_CALLS: readonly ValidCall[] = [
  COUNT,
  FIND,
  FIND_BY_ID,
  SELECT,
  INSERT,
  WRITE,
  COUNTER,
  ATTACH,
  REMOTE_EXECUTE,
];

export const OPERATION_PATHS: { readonly [name in OperationName]: string } = {
  count: "/store/count",
  execute: "/store/execute",
  find: "/store/find",
  findbyid: "/store/findbyid",
  write: "/store/write",
  remote_execute: "/sync/remote_execute",
};

const BYTES = new Uint8Array([1, 2, 255]);

/** Values of each kind. */
export const KIND_VALUES: { readonly [kind in Kind]: readonly Value[] } = {
  null: [null],
  boolean: [true, false],
  number: [0, -1, 1.5, 2 ** 31, 2n ** 63n, -(2n ** 63n), 2n ** 64n - 1n, 1e308, -5e-324],
  text: ["", "text", "0", "true", "null", "\0", "\u2028", "{}", "x".repeat(10_000)],
  array: [[], [1], [[]], [null], ["text", {}]],
  object: [{}, { a: 1 }, { length: 1 }, { toString: 1, constructor: {} }],
  binary: [new Uint8Array(), BYTES],
};

/** Calls that write when nothing is wrong with them. */
export const WRITING_CALLS: readonly ValidCall[] = VALID_CALLS.filter(
  (call) => call === INSERT || call.operation === "write",
);
