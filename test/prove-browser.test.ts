/**
 * `npm run prove -- browser`: its options, and commits whose number determines the whole state.
 */
import { expect, test } from "vitest";
import { parseOptions } from "../prove/browser/options.mjs";
import { PeerHistory, ROW_EVERY } from "../prove/browser/peer-history.mjs";
import { isStrict, stateAfter, writesOf } from "../prove/browser/workload.mjs";

test("the options have defaults, and invalid ones are named", () => {
  expect(parseOptions([])).toMatchObject({ browsers: ["chromium", "firefox"], kills: 100 });
  expect(parseOptions(["--browser", "firefox", "--kills", "3", "--seed", "7"])).toEqual({
    browsers: ["firefox"],
    help: false,
    isStorage: false,
    kills: 3,
    seed: 7,
  });
  expect(() => parseOptions(["--kills", "0"])).toThrow("found '0' at --kills");
  expect(() => parseOptions(["--browser", "lynx"])).toThrow("found 'lynx' at --browser");
});

/** Two tabs: `1 a` with transactions has 9 or 10 steps, `1 b` has 2 to 4. */
function historyOfTwo(): PeerHistory {
  const history = new PeerHistory();
  history.reported({ tab: "1 a", attempted: 10 });
  history.reported({ tab: "1 a", acknowledged: 9 });
  history.reported({ tab: "1 b", attempted: 4, acknowledged: 2 });
  return history;
}

const ROWS = ["1 a 1", `1 a ${ROW_EVERY + 1}`];

test("what lies between the acknowledged and the begun writes holds", () => {
  const history = historyOfTwo();
  const found = { steps: { "1 a": 10, "1 b": 2 }, rows: ROWS };
  history.compare({ ...found, pendingCount: 12 });
  history.compareServer(found);
  history.compareNews(["news 1", "news 0"], 2);
  expect(history.failures).toEqual([]);
  expect([history.steps, history.acknowledged, history.last]).toEqual([12, 11, 12]);
});

for (const { title, steps, rows = ROWS, failure } of [
  { title: "lost", steps: { "1 a": 9, "1 b": 1 }, failure: "tab 1 b: 1 acknowledged writes" },
  { title: "done twice", steps: { "1 a": 9, "1 b": 5 }, failure: "tab 1 b: 5 of 4 steps" },
  {
    title: "done in part",
    steps: { "1 a": 9, "1 b": 2 },
    rows: ["1 a 1"],
    failure: "1 of rows are",
  },
  { title: "invented", steps: { "1 a": 9, "1 b": 2, c: 1 }, failure: "tab c has 1, not undefined" },
]) {
  test(`a write that is ${title} is a failure`, () => {
    const history = historyOfTwo();
    history.compare({ steps, rows, pendingCount: 0 });
    expect(history.failures.join()).toContain(failure);
  });
}

test("a number that changes later, and another one on the server, are failures", () => {
  const history = historyOfTwo();
  history.compare({ steps: { "1 a": 9, "1 b": 2 }, rows: ROWS, pendingCount: 0 });
  history.compareServer({ steps: { "1 a": 9, "1 b": 3 }, rows: ROWS });
  history.compareServer({ steps: { "1 a": 9 }, rows: [...ROWS, "1 a 1"] });
  expect(history.failures).toEqual([
    "the server: tab 1 b has 3, not 2",
    "the server: no tab 1 b",
    "the server: an id of rows is twice",
  ]);
  history.compare({ steps: { "1 a": 9, "1 b": 3 }, rows: ROWS, pendingCount: 0 });
  expect(history.failures.slice(3)).toEqual(["tab 1 b: 2 steps became 3"]);
});

test("every two states differ, so that the last number shows which one was found", () => {
  const states = [10, 11, 12].map((number) => stateAfter(number));
  for (const [index, state] of states.entries()) {
    expect(state.get("counter")).toBe(10 + index);
    expect(state.get(`entry ${10 + index}`)).toBeDefined();
    expect(state.has(`entry ${11 + index}`)).toBe(false);
  }
  expect([1, 2, 3].map(isStrict)).toEqual([false, false, true]);
  expect(writesOf(200).get("entry 50")).toBeUndefined();
  expect(writesOf(200).has("entry 50")).toBe(true);
});
