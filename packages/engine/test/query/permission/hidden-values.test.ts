/**
 * What a lookup costs must not tell what documents hold that the caller may not read: the same
 * statement reads the same keys of two stores that differ in hidden values alone. Counted in reads of
 * the storage, on stores with indexes of every kind.
 */

import type { Value, ValueObject } from "@bigpeer/protocol";
import { expect, test } from "vitest";
import { oneOf } from "../../../../protocol/test/support/test-size.ts";
import type { Authority } from "../../../src/query/permission/authority.ts";
import { StatementRunner } from "../../../src/query/statement-runner.ts";
import { authorityOf } from "../../support/caller.ts";
import { openStore } from "../../support/open-store.ts";

interface World {
  readonly runner: StatementRunner;
  /** What was read since the last look, as kinds of keys and how often. */
  reads(): string;
  /** Entries of indexes that were read since the last look. */
  entries(): number;
}

const SHARED = 12;
const HIDDEN = 60;

/** Documents of ada, and of others whose values are `hidden`, all of one size. */
function documents(hidden: (i: number) => ValueObject): ValueObject[] {
  const own = Array.from({ length: SHARED }, (_, i) => ({
    _id: `a${100 + i}`,
    owner: i % 4 === 0 ? "eve" : "ada",
    team: "red",
    secret: `own${100 + i}`,
    level: i,
    big: "x".repeat(20),
  }));
  const others = Array.from({ length: HIDDEN }, (_, i) => ({
    _id: `b${100 + i}`,
    owner: "bob",
    team: "blue",
    big: "x".repeat(2000),
    ...hidden(i),
  }));
  return [...own, ...others];
}

async function open(
  hidden: (i: number) => ValueObject,
  indexes: readonly string[],
): Promise<World> {
  const { store, storage, platform } = await openStore();
  const runner = new StatementRunner({ store, platform, appId: "app" });
  for (const [i, keys] of indexes.entries()) {
    await runner.execute({ statement: `CREATE INDEX i${i} ON notes (${keys})` });
  }
  const statement = "INSERT INTO notes DOCUMENTS (:doc)";
  for (const doc of documents(hidden)) await runner.execute({ statement, args: { doc } });
  const counts = new Map<string, number>();
  const note = (key: string): void => {
    const kind = key.charAt(0);
    counts.set(kind, (counts.get(kind) ?? 0) + 1);
  };
  const snapshot = storage.snapshot.bind(storage);
  storage.snapshot = () => {
    const inner = snapshot();
    const get = inner.get.bind(inner);
    const has = inner.has.bind(inner);
    const entries = inner.entries.bind(inner);
    const keys = inner.keys.bind(inner);
    inner.get = (key, fields) => {
      note(key);
      return get(key, fields);
    };
    inner.has = (key) => {
      note(key);
      return has(key);
    };
    inner.entries = (range, fields) => counted(entries(range, fields), ({ key }) => note(key));
    inner.keys = (range) => counted(keys(range), note);
    return inner;
  };
  const take = (): Map<string, number> => {
    const taken = new Map(counts);
    counts.clear();
    return taken;
  };
  return {
    runner,
    reads: () => JSON.stringify([...take()].sort(([a], [b]) => (a < b ? -1 : 1))),
    entries: () => take().get("x") ?? 0,
  };
}

function* counted<T>(items: Iterable<T>, note: (item: T) => void): Iterable<T> {
  for (const item of items) {
    note(item);
    yield item;
  }
}

const INDEX_SETS: readonly (readonly string[])[] = [
  [],
  ["secret"],
  ["level DESC"],
  ["owner"],
  ["owner, secret"],
  ["secret, owner"],
  ["team, owner DESC, level"],
  ["owner", "secret", "level", "team, secret"],
];

/** Ways to ask for hidden values. What ada may read matches few of them. */
const STATEMENTS = [
  "SELECT * FROM notes WHERE secret = 'pass105'",
  "SELECT * FROM notes WHERE secret LIKE 'pa%'",
  "SELECT * FROM notes WHERE secret LIKE 'pass10%' AND owner = 'ada'",
  "SELECT * FROM notes WHERE secret IN ('pass101', 'pass102', 'own103')",
  "SELECT * FROM notes WHERE secret > 'p' AND secret < 'q'",
  "SELECT * FROM notes WHERE level >= 100",
  "SELECT * FROM notes WHERE level BETWEEN 90 AND 120 OR secret = 'pass101'",
  "SELECT secret FROM notes WHERE secret LIKE 'pass%' ORDER BY secret LIMIT 3",
  "SELECT * FROM notes ORDER BY secret LIMIT 2",
  "SELECT * FROM notes ORDER BY level DESC LIMIT 2",
  "SELECT level FROM notes ORDER BY level",
  "SELECT count(*) FROM notes WHERE secret LIKE 'pass%'",
  "SELECT * FROM notes WHERE owner = 'bob' AND secret = 'pass101'",
  "SELECT * FROM notes WHERE owner >= 'b' AND level > 100",
  "SELECT * FROM notes WHERE secret IS MISSING",
  "SELECT * FROM notes WHERE EXISTS (SELECT * FROM notes m WHERE m.secret = 'pass101')",
  "SELECT * FROM notes n JOIN notes m ON m.secret = n.secret WHERE n.level < 3",
  "UPDATE notes SET seen = true WHERE secret LIKE 'pass%'",
  "DELETE FROM notes WHERE level = 105",
];

/** Each with how many documents of the collection it allows. */
const RULES: readonly (readonly [rules: readonly string[], allowed: number])[] = [
  [["owner == 'ada'"], 9],
  [["owner IN ('ada', 'eve')"], 12],
  [["owner == 'ada'", "owner == 'eve'"], 12],
  [["owner == 'ada' AND team == 'red'"], 9],
  [["team == 'red'"], 12],
  [["owner == 'ada'", "team == 'red'"], 12],
  [["owner == 'ada' AND level < 5"], 3],
  [["owner LIKE 'a%'"], 9],
  [["owner != 'bob'"], 12],
];

function patterns(): readonly ((i: number) => ValueObject)[] {
  return [
    (i) => ({ secret: `pass${100 + i}`, level: 100 + i }),
    (i) => ({ secret: `quit${100 + i}`, level: 900 + i }),
    () => ({ secret: "aaaa101", level: 101 }),
  ];
}

async function rowsOf({ runner }: World, statement: string, authority: Authority): Promise<Value> {
  const { items, mutatedDocumentIds } = await runner.execute({ statement, authority });
  return [items, mutatedDocumentIds];
}

test.each(INDEX_SETS.map((indexes) => ({ indexes })))(
  "[P21] results do not depend on hidden values, with indexes $indexes",
  async ({ indexes }) => {
    const worlds = await Promise.all(patterns().map((hidden) => open(hidden, indexes)));
    for (const [rules] of oneOf(8, RULES)) {
      const authority = authorityOf({ notes: rules }, { notes: rules });
      for (const statement of STATEMENTS) {
        const found: { rows: Value; reads: string }[] = [];
        for (const world of worlds) {
          world.reads();
          const rows = await rowsOf(world, statement, authority);
          found.push({ rows, reads: world.reads() });
        }
        const [first, ...others] = found;
        for (const other of others)
          expect(other, `${rules.join(" | ")}: ${statement}`).toEqual(first);
      }
    }
  },
);

test("[P21] an index that starts with the keys of the rule serves it, and leads to no other document", async () => {
  const world = await open((i) => ({ secret: `pass${i}`, level: 5 }), ["owner, level", "level"]);
  for (const [rules, entriesMax] of [
    [["owner == 'ada'"], 9],
    [["owner == 'ada'", "owner == 'eve'"], 12],
  ] as const) {
    const authority = authorityOf({ notes: rules });
    for (const statement of [
      "SELECT * FROM notes WHERE level = 5",
      "SELECT * FROM notes WHERE level > 2 AND level < 7",
      "SELECT * FROM notes WHERE owner > 'a' AND level = 5",
    ]) {
      world.entries();
      const { items } = await world.runner.execute({ statement, authority });
      expect(items.length).toBeGreaterThan(0);
      const entries = world.entries();
      expect(entries, statement).toBeGreaterThan(0);
      expect(entries, statement).toBeLessThanOrEqual(entriesMax);
    }
  }
  // Whoever may read everything is served by any index.
  await world.runner.execute({ statement: "SELECT * FROM notes WHERE level = 5" });
  expect(world.entries()).toBe(HIDDEN + 1);
});

test("[P21] an index never changes an answer, nor EXPLAIN for an index that is not used", async () => {
  const hidden = (i: number): ValueObject => ({ secret: `pass${100 + i}`, level: 100 + i });
  const plain = await open(hidden, []);
  const indexed = await Promise.all(INDEX_SETS.slice(1).map((indexes) => open(hidden, indexes)));
  for (const [rules, allowed] of oneOf(8, RULES)) {
    const authority = authorityOf({ notes: rules }, { notes: rules });
    const all = await plain.runner.execute({
      statement: "SELECT * FROM notes",
      authority,
    });
    expect(all.items).toHaveLength(allowed);
    for (const statement of STATEMENTS) {
      const expected = await rowsOf(plain, statement, authority);
      for (const world of indexed) {
        expect(await rowsOf(world, statement, authority), statement).toEqual(expected);
      }
    }
  }
  const authority = authorityOf({ notes: ["owner == 'ada'"] });
  const explain = "EXPLAIN SELECT * FROM notes WHERE secret = 'pass101'";
  const bySecret = await open(hidden, ["secret"]);
  const byOwner = await open(hidden, ["owner, secret"]);
  const reported = JSON.stringify(await rowsOf(bySecret, explain, authority));
  expect(reported).not.toContain("i0");
  expect(JSON.stringify(await rowsOf(byOwner, explain, authority))).toContain("i0");
});
