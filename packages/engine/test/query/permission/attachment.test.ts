/**
 * Attachments with permissions: who may read a content, and who may refer to it.
 */

import type { Operation, ValueObject } from "@bigpeer/protocol";
import { describe, expect, test } from "vitest";
import { isFullSize, sized } from "../../../../protocol/test/support/test-size.ts";
import { authorityOf, type Caller, callerOf, type Rules } from "../../support/caller.ts";
import {
  type Commands,
  fieldOf,
  openCommands,
  updateOf,
  upsertOf,
} from "../../support/run-commands.ts";

const DENIAL = "the credential has no permission to refer to this attachment";

function tokenOf(id: string): { id: string; len: number; metadata: { [name: string]: string } } {
  return { id, len: 1, metadata: {} };
}

interface Bench extends Commands {
  readonly as: (read: Rules, write?: Rules, credential?: string) => Caller;
}

/** Contents by ada, and one by bob: in a document of his, and nowhere. */
async function bench(): Promise<Bench> {
  const opened = await openCommands();
  const { store, execute, runner } = opened;
  for (const [id, by] of [
    ["by-ada", "ada"],
    ["by-bob", "bob"],
    ["by-bob-alone", "bob"],
  ] as const) {
    await store.transact((transaction) => transaction.apply([{ kind: "attach", id, len: 1, by }]));
  }
  const documents = [
    { _id: "b", owner: "bob", pic: tokenOf("by-bob"), deep: { er: tokenOf("by-bob") } },
    { _id: "p", owner: "all", pic: tokenOf("shared") },
  ];
  await execute("INSERT INTO cars DOCUMENTS (:documents)", { documents });
  return { ...opened, as: (...rules) => callerOf(runner, authorityOf(...rules)) };
}

const OWN = { cars: ["owner == 'ada'", "owner == 'all'"] };

describe("reading", () => {
  test("[P17] is allowed for an uploader and for a caller that may read a document with the content", async () => {
    const { runner } = await bench();
    // A promise where the machine stalls for a slice.
    const mayRead = (read: Rules, credential: string): Promise<boolean[]> =>
      Promise.all(
        ["by-ada", "by-bob", "by-bob-alone", "shared", "nosuch"].map(async (id) =>
          runner.mayReadAttachment(id, authorityOf(read, {}, credential)),
        ),
      );
    expect(await mayRead({}, "ada")).toEqual([true, false, false, false, false]);
    expect(await mayRead(OWN, "ada")).toEqual([true, false, false, true, false]);
    expect(await mayRead({ cars: ["owner == 'bob'"] }, "ada")).toEqual([
      true,
      true,
      false,
      false,
      false,
    ]);
    expect(await mayRead({ parts: ["true"] }, "bob")).toEqual([false, true, true, false, false]);
    expect(await mayRead(true, "eve")).toEqual([true, true, true, true, true]);
    expect(await runner.mayReadAttachment("by-bob", undefined)).toBe(true);
  });

  test("[P17] ends when the document is gone", async () => {
    const { runner, execute } = await bench();
    await execute("DELETE FROM cars WHERE _id = 'p'");
    expect(await runner.mayReadAttachment("shared", authorityOf(OWN))).toBe(false);
  });

  test("[P17] is allowed for the last 64 uploaders, and again after another upload", async () => {
    const { runner, store } = await bench();
    const upload = async (...names: string[]): Promise<void> => {
      await store.transact((transaction) => {
        for (const by of names) transaction.apply([{ kind: "attach", id: "by-ada", len: 1, by }]);
      });
    };
    const others = Array.from({ length: 64 }, (_, i) => `u${i}`);
    await upload(...others.slice(0, 63));
    expect(await runner.mayReadAttachment("by-ada", authorityOf({}))).toBe(true);
    await upload(...others);
    expect(await runner.mayReadAttachment("by-ada", authorityOf({}))).toBe(false);
    await upload("ada");
    expect(await runner.mayReadAttachment("by-ada", authorityOf({}))).toBe(true);
  });
});

describe("many documents of other users", () => {
  interface Crowd extends Bench {
    readonly pauses: () => number;
  }

  /** Documents with one token, and a clock that goes on with each look at it. */
  async function crowd(count: number, fields: ValueObject = {}): Promise<Crowd> {
    let now = 0;
    let pauses = 0;
    const pause = async (): Promise<void> => {
      await Promise.resolve();
      pauses++;
    };
    const opened = await openCommands({}, { elapsed: () => ++now, pause });
    const { store, runner } = opened;
    const pic = tokenOf("popular");
    const insert = (id: string, owner: string): Operation => ({
      kind: "insert",
      collection: "cars",
      id,
      fields: { ...fields, owner, pic },
      types: { pic: "attachment" },
    });
    const others = Array.from({ length: count }, (_, i) => insert(`b${i}`, "bob"));
    await store.transact((transaction) => {
      transaction.apply([{ kind: "attach", id: "popular", len: 1, by: "bob" }]);
      transaction.apply([...others, insert("z", "zoe")]);
    });
    const as: Crowd["as"] = (...rules) => callerOf(runner, authorityOf(...rules));
    return { ...opened, as, pauses: () => pauses };
  }

  const INSERT = "INSERT INTO cars DOCUMENTS ({'owner': 'zoe', 'pic': :t})";
  const args = { t: tokenOf("popular") };

  test("[P17] are checked in slices when a caller reads the content", async () => {
    const { runner, pauses } = await crowd(sized(5_000, 12_000));
    const mayRead = async (owner: string): Promise<boolean> =>
      runner.mayReadAttachment("popular", authorityOf({ cars: [`owner == '${owner}'`] }));
    expect(await mayRead("ada")).toBe(false);
    expect(pauses()).toBeGreaterThan(2);
    expect(await mayRead("zoe")).toBe(true);
  });

  test.runIf(isFullSize)(
    "[P17] are checked up to 10,000 when a write refers to the content",
    async () => {
      const zoe = { cars: ["owner == 'zoe'"] };
      const few = await crowd(9_999);
      expect((await few.as(zoe, true).execute(INSERT, args)).mutatedDocumentIds).toHaveLength(1);
      const many = await crowd(10_000);
      const { code, message } = await many.as(zoe, true).failure(INSERT, args);
      expect([code, message]).toEqual(["permission.denied", DENIAL]);
    },
  );

  test("[P17] that take too long to check count as absent", async () => {
    const a = Array.from({ length: 1000 }, (_, i) => i);
    const slow = "ANY x IN a SATISFIES ANY y IN a SATISFIES x + y < 0 END END";
    const { runner, as } = await crowd(3, { a });
    const { failure, writeFailure, authority } = as({ cars: [slow] }, true);
    expect(await runner.mayReadAttachment("popular", authority)).toBe(false);
    expect((await failure(INSERT, args)).message).toBe(DENIAL);
    const valueTypeOverrides = { pic: "attachment" } as const;
    const upsert = upsertOf({ _id: "a", pic: tokenOf("popular") }, { valueTypeOverrides });
    expect((await writeFailure(upsert)).message).toBe(`${DENIAL} at commands[0]`);
  });
});

describe("writing a reference", () => {
  test.each(["by-bob", "by-bob-alone", "nosuch"])(
    "[P17] to %s is denied everywhere",
    async (id) => {
      const { as, document } = await bench();
      const { failure, execute, writeFailure } = as(OWN, true);
      await execute("INSERT INTO cars DOCUMENTS ({'_id': 'a', 'owner': 'ada'})");
      const args = { t: tokenOf(id), d: { _id: "x", o: { p: { q: tokenOf(id) } } } };
      for (const text of [
        "INSERT INTO cars DOCUMENTS (:d)",
        "INSERT INTO cars INITIAL DOCUMENTS (:d)",
        "INSERT INTO cars DOCUMENTS ({'_id': 'a', 'pic': :t}) ON ID CONFLICT DO UPDATE",
        "INSERT INTO cars DOCUMENTS ({'_id': 'a', 'o': {'p': :t}}) ON ID CONFLICT DO UPDATE_LOCAL_DIFF",
        "INSERT INTO cars SELECT 'y' AS _id, :t AS pic FROM system:dual",
        "UPDATE cars SET pic = :t WHERE _id = 'a'",
        "UPDATE cars SET o.p = {'q': :t} WHERE _id = 'a'",
        "UPDATE COLLECTION cars (pic ATTACHMENT) SET pic = :t WHERE _id = 'a'",
      ]) {
        const error = await failure(text, args);
        expect([text, error.code, error.message]).toEqual([text, "permission.denied", DENIAL]);
      }
      const valueTypeOverrides = { pic: "attachment" } as const;
      for (const command of [
        upsertOf({ _id: "a", pic: tokenOf(id) }, { valueTypeOverrides }),
        updateOf("_id == 'a'", fieldOf("setAttachment", "pic", tokenOf(id))),
      ]) {
        const error = await writeFailure(command);
        expect([error.code, error.message]).toEqual([
          "permission.denied",
          `${DENIAL} at commands[0]`,
        ]);
      }
      expect(document("a")?.fields).toEqual({ owner: "ada" });
    },
  );

  test("[P17] to uploaded or readable content is allowed", async () => {
    const { as, document } = await bench();
    const { execute, write } = as(OWN, true);
    const args = { a: tokenOf("by-ada"), s: tokenOf("shared") };
    await execute(
      "INSERT INTO cars DOCUMENTS ({'_id': 'a', 'owner': 'ada', 'x': :a, 'y': :s})",
      args,
    );
    await execute("INSERT INTO cars SELECT 'copy' AS _id, pic, owner FROM cars WHERE _id = 'p'");
    await write(updateOf("_id == 'a'", fieldOf("setAttachment", "z", tokenOf("by-ada"))));
    expect(document("a")?.types).toEqual({ x: "attachment", y: "attachment", z: "attachment" });
    expect(document("copy")?.fields).toEqual({ owner: "all", pic: tokenOf("shared") });
  });

  test("[P17] to content that the document already refers to is allowed", async () => {
    const { as } = await bench();
    const { execute } = as({ cars: ["owner == 'bob'"] }, true);
    const args = { t: tokenOf("by-bob") };
    const { mutatedDocumentIds } = await execute("UPDATE cars SET pic = :t, more = :t", args);
    expect(mutatedDocumentIds).toEqual(["b"]);
    await execute(
      "INSERT INTO cars DOCUMENTS ({'_id': 'b', 'pic': :t}) ON ID CONFLICT DO UPDATE",
      args,
    );
  });

  test("[P17] by a map that only resembles a token grants nothing", async () => {
    const { as, runner } = await bench();
    const { write, authority } = as(OWN, true);
    await write(upsertOf({ _id: "a", owner: "ada", pic: tokenOf("by-bob") }));
    expect(runner.mayReadAttachment("by-bob", authority)).toBe(false);
  });

  test("[P17] to any content is allowed for a caller that reads everything", async () => {
    const { as } = await bench();
    const { execute } = as(true, { cars: ["true"] }, "eve");
    const args = { t: tokenOf("by-bob-alone") };
    const insert = "INSERT INTO cars DOCUMENTS ({'_id': 'e', 'pic': :t})";
    expect((await execute(insert, args)).mutatedDocumentIds).toEqual(["e"]);
  });
});
