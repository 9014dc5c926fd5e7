/**
 * The packages as they are published, and the npm scripts: what their manifests have in common. The
 * tarballs themselves are tried by packages.long.test.ts.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { NODE_MAJORS } from "../scripts/node-version.mjs";
import { npmCommand } from "../scripts/npm-command.mjs";
import { ROOT } from "./support/repository.ts";

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly engines: { readonly node: string };
  readonly scripts?: Readonly<Record<string, string>>;
  readonly exports: Readonly<Record<string, Readonly<Record<string, string>> | string>>;
  readonly [field: string]: unknown;
}

function read(...path: string[]): string {
  return readFileSync(join(ROOT, ...path), "utf8");
}

const root = JSON.parse(read("package.json")) as Manifest;

const packages = readdirSync(join(ROOT, "packages")).map((folder) => {
  return { folder, manifest: JSON.parse(read("packages", folder, "package.json")) as Manifest };
});

test("there are at most eight packages, and the command has a name of its own", () => {
  expect(packages.length).toBeLessThanOrEqual(8);
  expect(packages.map(({ manifest }) => manifest.name)).toContain("bigpeer");
});

const published = packages.filter(({ manifest }) => manifest["private"] !== true);

test("only the console is not published: the server's tarball has it built", () => {
  const others = packages.filter((each) => !published.includes(each));
  expect(others.map(({ folder }) => folder)).toEqual(["console"]);
});

test.each(published)("packages/$folder has what a published package needs", (each) => {
  const { folder, manifest } = each;
  expect(manifest).toMatchObject({
    name: folder === "bigpeer" ? folder : `@bigpeer/${folder}`,
    version: root.version,
    license: "Apache-2.0",
    type: "module",
    engines: root.engines,
    files: expect.arrayContaining(["dist", "src", "!dist/.tsbuildinfo"]),
  });
  expect(manifest["description"]).toMatch(/\w/);
  expect(existsSync(join(ROOT, "packages", folder, "README.md"))).toBe(true);
  expect(manifest.scripts?.["prepack"]).toMatch(
    /^node \.\.\/\.\.\/scripts\/setup\.mjs && (.+ && )?node \.\.\/\.\.\/scripts\/package-files\.mjs$/,
  );
  for (const [name, entry] of Object.entries(manifest.exports)) {
    // Entries for browsers are bundles.
    if (typeof entry === "string" || entry["default"]?.startsWith("./dist/sdk/")) continue;
    const conditions = Object.keys(entry).filter((condition) => condition !== "browser");
    expect(conditions, name).toEqual(["source", "types", "default"]);
    expect(entry["types"]).toBe(entry["default"]?.replace(/\.js$/, ".d.ts"));
    expect(entry["source"]).toBe(entry["default"]?.replace("dist", "src").replace(/\.js$/, ".ts"));
  }
});

test("npm scripts use nothing that the shell of Windows does not have", () => {
  const manifests = [root, ...packages.map(({ manifest }) => manifest)];
  const scripts = manifests.flatMap(({ scripts: each = {} }) => Object.values(each));
  expect(scripts.length).toBeGreaterThan(20);
  const posixOnly = /\bexec\b|[$'>;|]|(^|&& )\w+=|(^|[^&])&([^&]|$)/;
  expect(scripts.filter((script) => posixOnly.test(script))).toEqual([]);
});

test("on Windows, npm is started by Node, as the scripts' npm or that of Node", () => {
  const windows = { platform: "win32", execPath: "/node/node.exe" } as const;
  const named = { ...windows, env: { npm_execpath: "/npm/cli.js" } };
  expect(npmCommand(["ci"], named)).toEqual(["/node/node.exe", ["/npm/cli.js", "ci"]]);
  expect(npmCommand(["ci"], { ...windows, env: {} })).toEqual([
    "/node/node.exe",
    [join("/node", "node_modules", "npm", "bin", "npm-cli.js"), "ci"],
  ]);
  const linux = { ...named, platform: "linux" } as const;
  expect(npmCommand(["ci"], linux)).toEqual(["npm", ["ci"]]);
});

test("the workflow tests every supported version of Node, from the oldest", () => {
  const versions = /node: \[(.*)\]/.exec(read(".github", "workflows", "ci.yml"))?.[1];
  expect(versions).toBe(NODE_MAJORS.join(", "));
  expect(root.engines.node).toBe(`>=${NODE_MAJORS[0]}.19`);
});
