/**
 * The packages as a user gets them: packed, installed into an empty folder outside the repository,
 * compiled against, and run on every supported version of Node.
 *
 * Where a version of Node cannot be had, its test fails and says why.
 */
import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, type TestContext, test } from "vitest";
import { runPage } from "../packages/peer/test/support/page-run.ts";
import { findNode, NODE_MAJORS } from "../scripts/node-version.mjs";
import {
  installedProject,
  type Packed,
  packAll,
  pathsOf,
  userEnvironment,
} from "./support/packed-packages.ts";
import { ROOT } from "./support/repository.ts";
import { type Annotation, compile, STRICT, typedPage } from "./support/typed-page.ts";

const run = promisify(execFile);

const { devDependencies } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
const NODE_TYPES = `@types/node@${devDependencies["@types/node"]}`;
/** An app with the hooks has them. */
const REACT_TYPES = `@types/react@${devDependencies["@types/react"]}`;

/** What a small peer in memory needs. */
const PEER_ONLY = ["@bigpeer/protocol", "@bigpeer/engine", "@bigpeer/peer"];

/** Types that the programs of the tutorial, which are JavaScript, do not have. */
const TUTORIAL_TYPES: readonly Annotation[] = [
  ["/** Syncs the tasks", 'import type { Peer } from "@bigpeer/peer";\n\n/** Syncs the tasks'],
  ["syncTasks(peer) {", "syncTasks(peer: Peer): Promise<void> {"],
  ["printTasks(peer, name) {", "printTasks(peer: Peer, name: string): Promise<void> {"],
  ["const [name, statement]", 'const [name = "", statement]'],
  ["const [name]", 'const [name = ""]'],
  ["const [user, team, statement]", 'const [user = "", team = "", statement]'],
  ["signToken(claims) {", "signToken(claims: object): string {"],
  ["(part) =>", "(part: object) =>"],
  ["(await response.json())", "((await response.json()) as { authProviders: object })"],
];

/** Packages whose README leads a new user from an empty folder to the first result. */
const README_NAMES = ["peer", "bigpeer", "client"];

/** Ports that are free, and what the pages show instead of them. */
const ANY_PORTS = { BIGPEER_PORT: "0", BIGPEER_MANAGEMENT_PORT: "0" };
const SHOWN_PORTS: readonly (readonly [string, string])[] = [
  [":8080", ":…"],
  [":8081", ":…"],
];

let packed: Packed;
/** A project with all packages. */
let project: string;

beforeAll(async () => {
  packed = await packAll();
  project = await installedProject([...pathsOf(packed), NODE_TYPES, REACT_TYPES]);
}, 900_000);

afterAll(() => {
  packed.remove();
  rmSync(project, { recursive: true, force: true });
});

/** Of tests that run at the same time, each has a context of its own. */
type Cleanup = Pick<TestContext, "onTestFinished">;

function temporary({ onTestFinished }: Cleanup): string {
  return removedAtEnd(mkdtempSync(join(tmpdir(), "bigpeer-user-")), onTestFinished);
}

/** Programs here find the packages of the project, as in a folder below it. */
function temporaryInProject({ onTestFinished }: Cleanup): string {
  return removedAtEnd(mkdtempSync(join(project, "user-")), onTestFinished);
}

function removedAtEnd(folder: string, onTestFinished: Cleanup["onTestFinished"]): string {
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

test("a tarball has built files with types and maps, their sources, a README and the licence", () => {
  expect(packed.tarballs.length).toBeGreaterThan(5);
  for (const { name, files } of packed.tarballs) {
    expect(files, name).toEqual(expect.arrayContaining(["LICENSE", "README.md", "package.json"]));
    const built = files.filter((path) =>
      /^dist\/(?!api-page\/|console\/|docs-site\/|sdk\/).*\.js$/.test(path),
    );
    expect(built.length, name).toBeGreaterThan(0);
    for (const path of built) {
      const stem = path.slice("dist/".length, -".js".length);
      const twins = [`dist/${stem}.d.ts`, `dist/${stem}.js.map`, `src/${stem}.ts`];
      expect(files, name).toEqual(expect.arrayContaining(twins));
    }
    expect(files.filter((path) => /tsbuildinfo|test/.test(path.split("/", 3).join()))).toEqual([]);
  }
});

test("the server's tarball has the documentation, the page of the API and the console", () => {
  const files = packed.tarballs.find(({ name }) => name === "@bigpeer/server")?.files;
  const needed = [
    "dist/docs-site/index.html",
    "dist/api-page/swagger-ui.css",
    "dist/console/index.html",
  ];
  expect(files).toEqual(expect.arrayContaining(needed));
  expect(files).not.toContain("dist/console/stamp.json");
});

test.each(["@bigpeer/peer", "@bigpeer/server"])(
  "the tarball of %s has the SDK for browsers",
  (name) => {
    const files = packed.tarballs.find((tarball) => tarball.name === name)?.files ?? [];
    const sdk = files.filter((path) => path.startsWith("dist/sdk/"));
    expect(sdk.toSorted()).toEqual([
      "dist/sdk/bigpeer-attachments.js",
      "dist/sdk/bigpeer-compat-v4.js",
      "dist/sdk/bigpeer-compat.js",
      "dist/sdk/bigpeer-explain.js",
      "dist/sdk/bigpeer-loader.js",
      "dist/sdk/bigpeer-patterns.js",
      "dist/sdk/bigpeer-worker.js",
      "dist/sdk/bigpeer.js",
    ]);
  },
);

test("publint and are-the-types-wrong find nothing", async () => {
  const script = join(ROOT, "scripts", "package-check.mjs");
  const { stdout } = await run(process.execPath, [script, ...pathsOf(packed)]);
  for (const { name } of packed.tarballs) expect(stdout).toContain(`${name}: no problems`);
});

const KINDS = [
  ["node16", { module: "node16" }],
  ["nodenext", { module: "nodenext" }],
  ["bundler", { module: "esnext", moduleResolution: "bundler" }],
] as const;

test.for(KINDS)(
  "the types of every entry compile strictly, without skipLibCheck, with %s",
  async ([, kind], context) => {
    const folder = temporaryInProject(context);
    const lines = packed.tarballs.flatMap(({ name }) => {
      const text = readFileSync(join(project, "node_modules", name, "package.json"), "utf8");
      const { exports } = JSON.parse(text) as { exports: Record<string, unknown> };
      const entries = Object.keys(exports).filter((entry) => typeof exports[entry] === "object");
      return entries.map((entry) => `"${name}${entry.slice(1)}"`);
    });
    expect(lines.length).toBeGreaterThan(10);
    const text = lines.map((entry, i) => `import type * as e${i} from ${entry};\n`).join("");
    const used = lines.map((_entry, i) => `typeof e${i}`).join(", ");
    writeFileSync(join(folder, "all.ts"), `${text}export type All = [${used}];\n`);
    const compilerOptions = { ...STRICT, ...kind, noEmit: true };
    await expect(compile(folder, { compilerOptions, files: ["all.ts"] })).resolves.toBeUndefined();
  },
);

/** What differs from Node, and the types that a page has no others for. */
const PAGE_PROGRAM = `import { openPeer, type Peer, type PeerOptions } from "@bigpeer/peer";

const login = async () => ({ provider: "users", token: "t" });
const options: PeerOptions = { appId: "a", url: "https://example.com", login, name: "tasks" };
const peer: Peer = await openPeer({ ...options, workerUrl: new URL("worker.js", location.href) });
const observer = peer.store.registerObserver<{ title: string }>(
  "SELECT title FROM tasks",
  ({ items, pendingIds }) => {
    document.title = pendingIds.length > 0 ? "waiting" : (items[0]?.title ?? "");
  },
);
observer.cancel();
const refused: string[] = (await peer.store.refused()).map(({ reason }) => reason);
const { use, quota } = await peer.storage.update();
console.log(refused, use / quota, peer.sync.status.state);
// @ts-expect-error -- a browser has no folders.
await openPeer({ appId: "a", url: "https://example.com", login, folder: "phone" });
// @ts-expect-error -- a method for the worker, not for apps.
peer.store.runScope(1);
`;

test.for(KINDS)(
  "a strict program for browsers compiles in both ways with %s",
  async ([, kind], context) => {
    const folder = temporaryInProject(context);
    const browser = { ...STRICT, ...kind, types: [], lib: ["es2023", "dom"], noEmit: true };
    writeFileSync(join(folder, "page.ts"), PAGE_PROGRAM);
    const byCondition = { ...browser, customConditions: ["browser"] };
    const files = ["page.ts"];
    await expect(compile(folder, { compilerOptions: byCondition, files })).resolves.toBeUndefined();
    await expect(compile(folder, { compilerOptions: browser, files })).rejects.toThrow("folder");
    const direct = PAGE_PROGRAM.replace('"@bigpeer/peer"', '"@bigpeer/peer/browser"');
    writeFileSync(join(folder, "page.ts"), direct);
    await expect(compile(folder, { compilerOptions: browser, files })).resolves.toBeUndefined();
  },
);

test("a peer in memory needs no storage package; one with a folder says what to install", async ({
  onTestFinished,
}) => {
  const folder = await installedProject([...pathsOf(packed, PEER_ONLY), NODE_TYPES]);
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const program = `import { openPeer } from "@bigpeer/peer";

const options = { appId: crypto.randomUUID(), url: "http://127.0.0.1:1", token: "t" };
const peer = await openPeer({ ...options, memory: true });
await peer.store.execute("INSERT INTO tasks DOCUMENTS ({'_id': 'a', 'n': 'Buy milk'})");
console.log((await peer.store.execute("SELECT n FROM tasks WHERE regexp_like(n, '^B.*k$')")).items);
await peer.close();
await openPeer({ ...options, folder: "phone" }).catch(({ code, message }) => {
  console.log(code);
  console.log(message);
});
`;
  writeFileSync(join(folder, "program.mts"), program);
  const compilerOptions = { ...STRICT, module: "nodenext" };
  await compile(folder, { compilerOptions, files: ["program.mts"] });
  const { stdout } = await run(process.execPath, ["program.mjs"], { cwd: folder });
  expect(stdout.split("\n")).toEqual([
    "[ { n: 'Buy milk' } ]",
    "config.invalid",
    "expected the package @bigpeer/node for the option folder, found none; " +
      "run npm install @bigpeer/node, or use memory: true",
    "",
  ]);
});

/** The environment of a user with this version of Node, and its executable. */
async function userWith(major: number): Promise<{ env: Record<string, string>; node: string }> {
  const { path, reason } = await findNode(major);
  expect(reason).toBeUndefined();
  const { PATH = "" } = userEnvironment(path);
  return { env: { ...ANY_PORTS, PATH }, node: path ?? "" };
}

test.for(NODE_MAJORS)("on Node %i, the command and the library run", async (major, context) => {
  const { env, node } = await userWith(major);
  const { version } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
  const options = { cwd: project, env: { ...userEnvironment(node), ...env } };
  const { stdout } = await run("npx", ["bigpeer", "--version"], options);
  expect(stdout).toBe(`${version}\n`);
  const readme = readFileSync(join(ROOT, "packages/server/README.md"), "utf8");
  const program = /^```js\n([^]*?)^```$/m.exec(readme)?.[1] ?? "";
  const folder = temporaryInProject(context);
  writeFileSync(join(folder, "server.mjs"), program);
  const output = await run(node, ["server.mjs"], { ...options, cwd: folder });
  expect(output.stdout).toBe("{ status: 'ready' }\n");
});

// These wait for much of their time, so they run at the same time.
test.concurrent.for(NODE_MAJORS)(
  "on Node %i, the tutorial in TypeScript runs",
  async (major, context) => {
    const { env } = await userWith(major);
    const folder = temporaryInProject(context);
    const page = readFileSync(join(ROOT, "docs/tutorial.md"), "utf8");
    const typed = await typedPage(page, folder, TUTORIAL_TYPES);
    const inCommands = [["npm start -- ", "npx bigpeer "]] as const;
    await expect(
      runPage(typed, { folder, env, inCommands, inOutput: SHOWN_PORTS }),
    ).resolves.toBeUndefined();
  },
);

/** The oldest and the newest version: what is between them differs in nothing that a README uses. */
const README_MAJORS = [Math.min(...NODE_MAJORS), Math.max(...NODE_MAJORS)];
const READMES = README_MAJORS.flatMap((major) =>
  README_NAMES.map((name) => [major, name] as const),
);

test.concurrent.for(READMES)(
  "on Node %i, a new user gets along with the README of %s alone",
  async ([major, name], context) => {
    const { env } = await userWith(major);
    const folder = temporary(context);
    // What the registry will have: npm finds the packages, and `npx` the command.
    const install = `npm install --no-audit --no-fund --prefer-offline ${pathsOf(packed).join(" ")}`;
    if (name === "bigpeer")
      await run("sh", ["-c", install], { cwd: folder, env: userEnvironment() });
    const inCommands = [
      ["npm install @bigpeer/peer @bigpeer/node", install],
      ["npm install @bigpeer/peer", install],
      ["npm install @bigpeer/client", install],
    ] as const;
    const page = readFileSync(join(ROOT, "packages", name, "README.md"), "utf8");
    await expect(
      runPage(page, { folder, env, inCommands, inOutput: SHOWN_PORTS }),
    ).resolves.toBeUndefined();
  },
);
