/**
 * History and favourites are bounded, and what is stored is checked.
 */
import { expect, test } from "vitest";
import { formatReadAs, parseReadAs, readAsName } from "../src/values/read-as.ts";
import {
  addFavourite,
  addToHistory,
  type HistoryEntry,
  isFavourites,
  isHistory,
  KEPT_LENGTH_MAX,
  titleOf,
} from "../src/values/statement-history.ts";

function entry(text: string, change: Partial<HistoryEntry> = {}): HistoryEntry {
  return { app: "shop", text, args: "", at: 1, ms: 2, rows: 3, ...change };
}

test("the newest is first, and a statement that ran before moves to the top", () => {
  const history = ["a", "b", "a"].reduce<readonly HistoryEntry[]>(
    (all, text, at) => addToHistory(all, entry(text, { at })),
    [],
  );
  expect(history.map(({ text, at }) => [text, at])).toEqual([
    ["a", 2],
    ["b", 1],
  ]);
  const others = [entry("a", { app: "bank" }), entry("a", { args: "{}" })];
  expect(others.reduce(addToHistory, history)).toHaveLength(4);
});

test("history has 200 entries at most, and none that is too long", () => {
  let history: readonly HistoryEntry[] = [];
  for (let i = 0; i < 250; i++) history = addToHistory(history, entry(`s${i}`));
  expect([history.length, history[0]?.text]).toEqual([200, "s249"]);
  expect(addToHistory(history, entry("x".repeat(KEPT_LENGTH_MAX + 1)))).toBe(history);
});

test("a favourite replaces the one of its name in its app", () => {
  const favourite = { app: "shop", name: "late", text: "a", args: "" };
  const all = [favourite, { ...favourite, text: "b" }, { ...favourite, app: "bank" }];
  const kept = all.reduce(addFavourite, [] as readonly (typeof favourite)[]);
  expect(kept.map(({ app, text }) => [app, text])).toEqual([
    ["bank", "a"],
    ["shop", "b"],
  ]);
});

test("what another version stored is refused", () => {
  expect(isHistory([entry("a")])).toBe(true);
  expect([null, {}, ["a"], [{ text: "a" }]].map(isHistory)).toEqual(Array(4).fill(false));
  expect(isFavourites([entry("a")])).toBe(false);
});

test("the title is the statement on one line, without comments", () => {
  expect(titleOf("\n-- late ones\n  SELECT 1\nFROM a")).toBe("SELECT 1 FROM a");
  expect(titleOf("-- only this")).toBe("-- only this");
});

test("see as is read from the address as it was written", () => {
  const user = { provider: "staff", userId: "ada", claims: { store: 1 } };
  for (const as of [{ key: "till" }, user]) expect(parseReadAs(formatReadAs(as))).toEqual(as);
  expect([undefined, "", "x", "1", "{}"].map(parseReadAs)).toEqual(Array(5).fill(undefined));
  expect([{ key: "till" }, user].map(readAsName)).toEqual(["key till", "ada of staff"]);
});
