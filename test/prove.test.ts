/**
 * The pure parts of `npm run prove -- availability`: which attacks are chosen, and what counts as
 * not holding.
 */
import { expect, test } from "vitest";
import { chooseAttacks, parseOptions } from "../prove/availability/options.mjs";
import {
  faultsOf,
  mustRunAgain,
  type Result,
  type Service,
  tableHead,
  tableRow,
} from "../prove/availability/report.mjs";

const SERVED: Service = { times: [4, 9], failed: [] };
const HOLDS: Result = {
  name: "bye-flood",
  credential: "none",
  probes: { times: [1, 250], failed: 0 },
  neighbour: { writes: SERVED, syncs: SERVED, uploads: SERVED },
  stolenPart: 0.001,
  turns: { cpuMs: 40, wallMs: 61.4 },
  maxRssMb: 699.6,
  answers: { "400": 2, closed: 30 },
  isAlive: true,
  lost: 0,
};

test("command-line options have defaults and are checked", () => {
  expect(parseOptions([])).toMatchObject({ seconds: 10, documents: 50_000, list: false });
  expect(parseOptions(["--only", "joins,pings"]).only).toEqual(["joins", "pings"]);
  expect(() => parseOptions(["--seconds", "no"])).toThrow(
    "expected a number above 0, found 'no' at --seconds",
  );
});

test("an attack is selected by its name or by its first words", () => {
  const attacks = ["joins", "joins-empty", "join", "pings"].map((name) => ({ name }));
  expect(chooseAttacks(attacks)).toEqual(attacks);
  expect(chooseAttacks(attacks, ["joins"]).map(({ name }) => name)).toEqual([
    "joins",
    "joins-empty",
  ]);
  expect(() => chooseAttacks(attacks, ["pongs"])).toThrow("found 'pongs' at --only");
});

test("a run passes at its limits and fails beyond any of them", () => {
  const faults = (changes: Partial<Result>): string[] => faultsOf({ ...HOLDS, ...changes });
  expect(faults({})).toEqual([]);
  expect(faults({ probes: { times: [251], failed: 0 } })).toEqual(["1 of 1 probes above 250 ms"]);
  expect(faults({ probes: { times: [], failed: 3 } })).toEqual(["3 probes without an answer"]);
  expect(faults({ maxRssMb: 700.5 })).toEqual(["701 MB"]);
  expect(faults({ isAlive: false, lost: 2 })).toEqual([
    "does not answer any more",
    "2 acknowledged writes lost",
  ]);
  const without = { ...HOLDS.neighbour, syncs: { times: [], failed: ["bye busy"] } };
  expect(faults({ neighbour: without })).toEqual([
    "no syncs of the neighbour",
    "1 syncs of the neighbour failed: bye busy",
  ]);
  const waited = { ...HOLDS.neighbour, writes: { times: [5_001], failed: [] } };
  expect(faults({ neighbour: waited })).toEqual(["writes of the neighbour waited"]);
});

test("a row has a cell for each column of the header", () => {
  const cells = (row: string): number => row.split("|").length;
  const [head = ""] = tableHead().split("\n");
  expect(cells(tableRow(HOLDS))).toBe(cells(head));
  expect(tableRow(HOLDS)).toContain("closed × 30, 400 × 2 | yes |");
});

test("a failed run is repeated only if the host took CPU time away from the machine", () => {
  const missed: Result = { ...HOLDS, probes: { times: [251], failed: 0 } };
  expect(mustRunAgain({ ...missed, stolenPart: 0.02 })).toBe(true);
  expect(mustRunAgain(missed)).toBe(false);
  expect(mustRunAgain({ ...HOLDS, stolenPart: 0.02 })).toBe(false);
});
