import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { constants, tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import {
  errorNumber,
  hasRoom,
  isFullError,
  makeFolder,
  placeCopy,
  reserveFile,
  syncFolder,
} from "../src/disk.ts";

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "bigpeer-disk-"));
});

afterEach(() => rmSync(folder, { recursive: true }));

test("errors of Node and of lmdb have the same numbers", () => {
  const { EIO, ENOENT, ENOSPC } = constants.errno;
  let error: unknown;
  try {
    readFileSync(join(folder, "none"));
  } catch (caught) {
    error = caught;
  }
  expect(errorNumber(error)).toBe(ENOENT);
  expect(errorNumber({ code: EIO })).toBe(EIO);
  expect(errorNumber({ code: -30_792 })).toBe(-30_792);
  expect(errorNumber(new Error("other"))).toBe(0);
  expect(isFullError({ code: ENOSPC })).toBe(true);
  expect(isFullError({ errno: -ENOSPC, code: "ENOSPC" })).toBe(true);
  expect(isFullError(error)).toBe(false);
});

test("a folder is created with its parents, and creating it again does no harm", () => {
  const deep = join(folder, "a", "b", "c");
  makeFolder(deep);
  writeFileSync(join(deep, "file"), "kept");
  makeFolder(deep);
  syncFolder(deep);
  expect(readdirSync(deep)).toEqual(["file"]);
});

test("a folder that cannot be created is reported", () => {
  expect(() => makeFolder("/proc/nope/data")).toThrow("ENOENT");
});

test("a file is reserved once, with all its bytes on the disk", () => {
  const path = join(folder, "file");
  reserveFile(path, 100_000);
  expect(statSync(path).size).toBe(100_000);
  expect(statSync(path).blocks * 512).toBeGreaterThanOrEqual(100_000);
  writeFileSync(path, "in use");
  reserveFile(path, 100_000);
  expect(readFileSync(path, "utf8")).toBe("in use");
});

test("only a file can be reserved", () => {
  mkdirSync(join(folder, "file"));
  expect(() => reserveFile(join(folder, "file"), 10)).toThrow("found something else");
});

test("the disk has space, and the check leaves no file behind", () => {
  writeFileSync(join(folder, "file"), "x");
  expect(hasRoom(folder, "file")).toBe(true);
  expect(hasRoom(folder, "absent")).toBe(true);
  expect(readdirSync(folder)).toEqual(["file"]);
});

test("a copy gets its name only when it is complete", async () => {
  const target = join(folder, "copy", "here");
  await placeCopy(target, "data", async (partial) => {
    expect(existsSync(join(target, "data"))).toBe(false);
    writeFileSync(join(partial, "data"), "content");
  });
  expect(readdirSync(target)).toEqual(["data"]);
  expect(readFileSync(join(target, "data"), "utf8")).toBe("content");
});

test("a copy that fails leaves nothing, and the remains of a crash are no obstacle", async () => {
  const fail = async (partial: string): Promise<void> => {
    writeFileSync(join(partial, "data"), "half");
    throw new Error("broken");
  };
  const target = join(folder, "copy");
  await expect(placeCopy(target, "data", fail)).rejects.toMatchObject({
    code: "store.write_failed",
    cause: { message: "broken" },
  });
  expect(readdirSync(target)).toEqual([]);
  mkdirSync(join(target, "copy.partial"));
  writeFileSync(join(target, "copy.partial", "data"), "left by a crash");
  await placeCopy(target, "data", async (partial) => {
    expect(readdirSync(partial)).toEqual([]);
    writeFileSync(join(partial, "data"), "whole");
  });
  expect(readdirSync(target)).toEqual(["data"]);
});

test("a full disk is distinguished from other failures of a copy", async () => {
  const fail = (): Promise<void> =>
    Promise.reject(Object.assign(new Error("full"), { code: constants.errno.ENOSPC }));
  const copying = placeCopy(join(folder, "copy"), "data", fail);
  await expect(copying).rejects.toMatchObject({ code: "store.full" });
});

test("a copy replaces nothing", async () => {
  writeFileSync(join(folder, "data"), "first");
  const copying = placeCopy(folder, "data", () => Promise.reject(new Error("not called")));
  await expect(copying).rejects.toMatchObject({ code: "store.not_empty" });
  expect(readFileSync(join(folder, "data"), "utf8")).toBe("first");
});
