import { mkdirSync } from "node:fs";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../../node/test/support/temporary-folder.ts";
import {
  type PositionedStore,
  positionsOf,
  StorePositions,
  writePosition,
} from "../../src/cluster/store-positions.ts";
import { appStoreFolder } from "../../src/config/data-folder.ts";

const APP = "00000000-0000-4000-8000-00000000cafe";

function positionsIn(
  dataDir: string,
  open: { [store: string]: PositionedStore } = {},
  held = Number.POSITIVE_INFINITY,
): StorePositions {
  return new StorePositions({ dataDir, opened: (store) => open[store], held: () => held });
}

test("an open store is where its disk is", () => {
  const open = { [APP]: { durableSequence: 9, replica: { role: "evaluating" } } };
  const positions = positionsIn(temporaryFolder(), open);
  expect(positions.of(APP)).toEqual({ sequence: 9, isEvaluating: true });
});

test("a copy under way holds the position back", () => {
  const open = { [APP]: { durableSequence: 9, replica: { role: "following" } } };
  const positions = positionsIn(temporaryFolder(), open, 4);
  expect(positions.of(APP)).toEqual({ sequence: 4, isEvaluating: false });
});

test("a closed store is where it was closed, and one that is not here is nowhere", () => {
  const dataDir = temporaryFolder();
  const positions = positionsIn(dataDir);
  expect(positions.of(APP).sequence).toBe(0);
  mkdirSync(appStoreFolder(dataDir, APP), { recursive: true });
  writePosition(appStoreFolder(dataDir, APP), 5);
  expect(positions.of(APP).sequence).toBe(5);
});

test("another node reads the answer in the order of its question", () => {
  const open = { registry: { durableSequence: 3, replica: { role: "following" } } };
  const positions = positionsIn(temporaryFolder(), open);
  const answer = positions.answer({ stores: [APP, "registry", "../../etc"] });
  expect(positionsOf(answer).map(({ sequence }) => sequence)).toEqual([0, 3, 0]);
});
