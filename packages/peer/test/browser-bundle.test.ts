/**
 * The files of the SDK for browsers: nothing of Node in them, each within its size, and patterns
 * apart. They are bundled here as the set-up does it.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { parseSync } from "vite";
import { expect, onTestFinished, test } from "vitest";
import { buildSdk, bundleSdkFile } from "../../../scripts/sdk.mjs";

/** Each file with the kilobytes that it may have after gzip. */
const FILES = [
  { name: "bigpeer", kilobytesMax: 10, hasPatterns: false },
  { name: "bigpeer-loader", kilobytesMax: 1, hasPatterns: false },
  { name: "bigpeer-worker", kilobytesMax: 165, hasPatterns: false },
  { name: "bigpeer-patterns", kilobytesMax: 50, hasPatterns: true },
  { name: "bigpeer-explain", kilobytesMax: 12, hasPatterns: false },
  { name: "bigpeer-attachments", kilobytesMax: 15, hasPatterns: false },
  { name: "bigpeer-compat", kilobytesMax: 14, hasPatterns: false, shares: ["./bigpeer.js"] },
  {
    name: "bigpeer-compat-v4",
    kilobytesMax: 3,
    hasPatterns: false,
    shares: ["./bigpeer-compat.js"],
  },
] as const;

test.each(FILES)("$name has nothing of Node, and at most $kilobytesMax KB", async (file) => {
  const { name, kilobytesMax, hasPatterns } = file;
  const { code, imports, modules } = await bundleSdkFile(name);
  expect(parseSync(`${name}.js`, code).errors).toEqual([]);
  expect(imports).toEqual("shares" in file ? file.shares : []);
  expect(/\b(process|Buffer|setImmediate)\b\s*[.(]/.exec(code)?.[0]).toBeUndefined();
  expect(modules.filter((each) => /\/(node|ws|lmdb)\/|\/src\/node\//.test(each))).toEqual([]);
  expect(modules.some((each) => each.includes("re2js"))).toBe(hasPatterns);
  const size = gzipSync(code, { level: 9 }).length;
  const excess = size - kilobytesMax * 1000;
  const message = `${name}.js has ${size} bytes after gzip, ${excess} more than it may have`;
  expect(excess, message).toBeLessThanOrEqual(0);
});

test("marks by which bundlers leave an import alone are kept", async () => {
  const { code } = await bundleSdkFile("bigpeer-worker");
  const marked = /import\(\s*\/\* webpackIgnore: true \*\/\s*\/\* @vite-ignore \*\//g;
  expect(code.match(marked)).toHaveLength(1);
  expect(code).not.toContain("__PURE__");
});

test("files that are built are left alone, unless one is missing or something else would make them", async () => {
  const home = mkdtempSync(join(tmpdir(), "bigpeer-sdk-"));
  onTestFinished(() => rmSync(home, { recursive: true }));
  const folders = { target: join(home, "peer"), copy: join(home, "server") };
  const stamp = join(folders.copy, "stamp.json");
  let count = 0;
  const build = async (): Promise<number> => {
    count = 0;
    await buildSdk(folders, async (name) => ({ code: `${name} ${++count}` }));
    return count;
  };
  expect(await build()).toBe(8);
  expect(readdirSync(folders.copy)).toHaveLength(9);
  expect(await build()).toBe(0);
  for (const folder of [folders.target, folders.copy]) {
    rmSync(join(folder, "bigpeer-explain.js"));
    expect(await build()).toBe(8);
    expect(readFileSync(join(folder, "bigpeer-explain.js"), "utf8")).toMatch(/^bigpeer-explain/);
  }
  const { version } = JSON.parse(
    readFileSync(new URL("../../../node_modules/rolldown/package.json", import.meta.url), "utf8"),
  ) as { version: string };
  expect(readFileSync(stamp, "utf8")).toContain(JSON.stringify(version));
  writeFileSync(stamp, readFileSync(stamp, "utf8").replace(version, "0.0.1"));
  expect(await build()).toBe(8);
});
