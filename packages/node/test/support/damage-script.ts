/**
 * A process that damages copies of a store and reads them, because a damaged file may end whoever does.
 *
 *   node script.mjs <folder of a sound store> <folder for copies>
 *
 * A line is a seed: some bytes at a place of the file that it chooses are changed. The answers are two:
 * how many problems verify finds, then what reading came to. `wrong` are documents with other
 * content than they had, `hidden` those that were not found, `failed` reads that were refused.
 */

import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { stringifyJson, type Value } from "@bigpeer/protocol";
import { DATA_FILE, newestMeta } from "../../src/lmdb/lmdb-file.ts";
import { readStore, verifyStore } from "../../src/store-folder.ts";

export interface DamageReads {
  readonly wrong: readonly string[];
  readonly hidden: number;
  readonly failed: number;
}

const [, , sound = "", folder = ""] = process.argv;
const COLLECTION = "cars";
const meta = newestMeta(join(sound, DATA_FILE));
const usedBytes = Number(meta.lastPage + 1n) * meta.pageSize;
const truth = await readStore(sound, (view) => {
  return new Map(
    Array.from(view.scan(COLLECTION), ({ id, fields }) => [id, stringifyJson(fields)]),
  );
});

for await (const line of createInterface({ input: process.stdin })) {
  damage(Number(line));
  say(await problemCount());
  say(await reads());
}

function say(answer: unknown): void {
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}

function damage(seed: number): void {
  let state = seed;
  const next = (below: number): number => {
    state = (Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x9e3779b9) | 0;
    return (state >>> 7) % below;
  };
  for (let i = 0; i < 4; i++) next(2);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder);
  copyFileSync(join(sound, DATA_FILE), join(folder, DATA_FILE));
  const bytes = readFileSync(join(folder, DATA_FILE));
  const place = next(usedBytes);
  const count = next(2) === 0 ? 1 : 1 + next(8);
  for (let at = place; at < Math.min(place + count, usedBytes); at++) {
    bytes[at] = (bytes[at] ?? 0) ^ (1 + next(255));
  }
  writeFileSync(join(folder, DATA_FILE), bytes);
}

async function problemCount(): Promise<number> {
  try {
    let found = 0;
    const { problems } = await verifyStore(folder, {
      tick: () => {},
      pagesChecked: (pages) => {
        found = pages.problems.length;
      },
    });
    return found + problems.length;
  } catch {
    return 1;
  }
}

async function reads(): Promise<DamageReads> {
  const wrong: string[] = [];
  let hidden = 0;
  let failed = 0;
  const attempt = (body: () => void): void => {
    try {
      body();
    } catch {
      failed++;
    }
  };
  const verdictOf = (id: Value, found: Value | undefined): void => {
    if (found === undefined) hidden++;
    else if (stringifyJson(found) !== truth.get(id)) wrong.push(stringifyJson(id));
  };
  try {
    await readStore(folder, (view) => {
      for (const id of truth.keys()) attempt(() => verdictOf(id, view.get(COLLECTION, id)?.fields));
      attempt(() => {
        let count = 0;
        for (const { id, fields } of view.scan(COLLECTION)) {
          verdictOf(id, fields);
          count++;
        }
        if (count !== truth.size) hidden++;
      });
      attempt(() => {
        const [index] = view.indexesOf(COLLECTION);
        let count = 0;
        for (const { idKey } of index === undefined ? [] : view.scanIndex(index)) {
          if (view.getByKey(COLLECTION, idKey) === undefined) wrong.push(idKey);
          count++;
        }
        if (count !== truth.size) hidden++;
      });
    });
  } catch {
    failed++;
  }
  return { wrong, hidden, failed };
}
