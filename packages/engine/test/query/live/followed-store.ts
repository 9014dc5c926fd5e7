/**
 * A store in memory with live queries on it, generated writes to it, and the law that holds for them:
 * what a live query shows is what its statement gives when it is run now.
 */

import { isDeepStrictEqual } from "node:util";
import {
  PeerError,
  stringifyJson,
  timeOfMs,
  type UploadOperation,
  type Value,
} from "@bigpeer/protocol";
import * as fc from "fast-check";
import type { Platform } from "../../../src/platform.ts";
import {
  type Advance,
  type LiveLimits,
  LiveQueries,
  type LiveRequest,
  type Registration,
} from "../../../src/query/live/live-queries.ts";
import type { LiveQuery } from "../../../src/query/live/live-query.ts";
import { takeUpload } from "../../../src/store/taken-upload.ts";
import { uploadDigest } from "../../../src/store/upload.ts";
import { openStatements, type Statements } from "../../support/run-statements.ts";
import { START_MS } from "../../support/test-platform.ts";
import { anyNestedMutation } from "../generated-query.ts";
import { anyMutation } from "../generated-statement.ts";

export interface Followed extends Statements {
  readonly live: LiveQueries;
  readonly follow: (statement: string, args?: unknown) => Promise<LiveQuery>;
  readonly register: (request: LiveRequest) => Promise<Registration>;
  /** The queries that the newest commits changed. */
  readonly advance: () => Promise<readonly LiveQuery[]>;
  /** Takes what another site wrote. */
  readonly upload: (operations: readonly UploadOperation[], time?: number) => Promise<void>;
}

export async function openFollowed(
  limits: Partial<LiveLimits> = {},
  change: Partial<Platform> = {},
): Promise<Followed> {
  const statements = await openStatements();
  const { store } = statements;
  const platform = { ...statements.platform, ...change };
  const live = new LiveQueries({ store, platform, appId: "test", limits });
  const register = async (request: LiveRequest): Promise<Registration> => live.register(request);
  const advance = async (): Promise<Advance> => live.advance();
  return {
    ...statements,
    live,
    register,
    follow: async (statement, args) => (await register({ statement, args })).query,
    advance: async () => (await advance()).changed,
    upload: uploader(statements),
  };
}

/** A clock on which every look takes longer than a slice: all work takes turns. */
export function hurriedClock(): Partial<Platform> {
  let now = 0;
  return {
    elapsed: () => {
      now += 20;
      return now;
    },
  };
}

function uploader({ store, platform }: Statements): Followed["upload"] {
  let number = 0;
  let digest: Uint8Array | undefined;
  let last = timeOfMs(START_MS) - 1000;
  return async (operations, time) => {
    last = Math.max(last + 1, time ?? 0);
    const steps = [{ time: last, operations: [...operations] }];
    digest = uploadDigest(platform, digest, steps);
    await takeUpload(store, { site: "00000000000000aa", number: ++number, digest, steps });
  };
}

/** Something that changes `things` or `others`. */
export type Write = (followed: Followed, args: Value) => Promise<void>;

const ids = fc.constantFrom("d0", "d1", "d2", "d3", "d4", "d7", "new", "newer");

const newFields = fc.record(
  {
    a: fc.constantFrom<Value>(0, 1, 2, "a", null),
    b: fc.constantFrom(0, 1, 2, 3),
    n: fc.constantFrom(0.5, 1, 2.5),
    s: fc.constantFrom("", "a", "ab", "b"),
    f: fc.boolean(),
    link: fc.constantFrom("d0", "d1", "none"),
    t: fc.constantFrom<Value>([], [1], [1, 2]),
  },
  { requiredKeys: [] },
);

function executed(texts: fc.Arbitrary<string>): fc.Arbitrary<Write> {
  return texts.map((statement): Write => {
    const write: Write = async ({ runner }, args) => {
      try {
        await runner.execute({ statement, args });
      } catch (error) {
        // Some documents refuse some changes; then nothing was written.
        if (!(error instanceof PeerError)) throw error;
      }
    };
    return Object.assign(write, { toString: () => statement });
  });
}

function inserts(): fc.Arbitrary<Write> {
  const policies = ["DO NOTHING", "DO UPDATE", "DO MERGE", "DO UPDATE_LOCAL_DIFF"];
  const parts = fc.tuple(
    fc.constantFrom("things", "things", "others"),
    ids,
    newFields,
    fc.constantFrom(...policies),
  );
  return executed(
    parts.map(([collection, id, fields, policy]) => {
      const document = stringifyJson({ _id: id, ...fields });
      return `INSERT INTO ${collection} DOCUMENTS (${document}) ON ID CONFLICT ${policy}`;
    }),
  );
}

function counters(): fc.Arbitrary<Write> {
  const parts = fc.tuple(fc.constantFrom("b", "hits", "n"), ids, fc.constantFrom("1", "-1", "2"));
  return executed(
    parts.map(([field, id, by]) => {
      const head = `UPDATE COLLECTION things (${field} COUNTER)`;
      return `${head} APPLY ${field} INCREMENT BY ${by} WHERE _id = '${id}'`;
    }),
  );
}

function removals(): fc.Arbitrary<Write> {
  return executed(
    fc
      .tuple(fc.constantFrom("DELETE", "EVICT"), fc.constantFrom("things", "others"), ids)
      .map(([method, collection, id]) => `${method} FROM ${collection} WHERE _id = '${id}'`),
  );
}

/** What another site wrote a while ago, or just now: it may lose against what is here. */
function uploads(): fc.Arbitrary<Write> {
  const collection = fc.constantFrom("things", "things", "others");
  const operation = fc.oneof(
    fc.record({
      kind: fc.constant("insert" as const),
      collection,
      id: ids,
      fields: newFields.map((fields) => fields as Record<string, Value>),
    }),
    fc.record({
      kind: fc.constant("update" as const),
      collection,
      id: ids,
      edits: fc.constantFrom(
        [{ kind: "increment" as const, path: ["hits"], by: 1 }],
        [{ kind: "set" as const, path: ["s"], value: "a" }],
        [{ kind: "set" as const, path: ["b"], value: 2 }],
        [{ kind: "unset" as const, path: ["a"] }],
      ),
    }),
    fc.record({ kind: fc.constant("delete" as const), collection, id: ids }),
  );
  const operations = fc.array(operation, { minLength: 1, maxLength: 3 });
  return fc.tuple(operations, fc.boolean()).map(([all, isNew]): Write => {
    const write: Write = ({ upload }) => upload(all, isNew ? timeOfMs(START_MS) : undefined);
    return Object.assign(write, { toString: () => `upload ${stringifyJson(all as Value)}` });
  });
}

export function anyWrite(): fc.Arbitrary<Write> {
  return fc.oneof(
    { weight: 3, arbitrary: inserts() },
    { weight: 2, arbitrary: executed(anyMutation()) },
    { weight: 1, arbitrary: executed(anyNestedMutation()) },
    { weight: 2, arbitrary: counters() },
    { weight: 2, arbitrary: removals() },
    { weight: 2, arbitrary: uploads() },
  );
}

/** What is wrong with a query after an advance; undefined when nothing is. */
export async function differenceOf(
  { runner }: Followed,
  request: LiveRequest,
  query: LiveQuery,
): Promise<string | undefined> {
  const { items } = await runner.execute(request);
  if (isDeepStrictEqual(items, query.rows)) return undefined;
  const reported = (rows: readonly Value[]): string =>
    rows.map((row) => stringifyJson(row)).join("\n");
  return `${request.statement}\nexpected\n${reported(items)}\nfound\n${reported(query.rows)}`;
}
