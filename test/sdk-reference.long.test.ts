/**
 * The reference of the SDK is complete: its pages are made from the real sources, and a planted fault
 * is refused with its name and place.
 *
 * The compiler that reads the sources is installed on use. Where npm cannot install it, the tests
 * are left out, and say so.
 */
import { execFile } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, onTestFinished, type TestContext, test } from "vitest";
import { findHeadings } from "../site/markdown-links.mjs";
import { buildSdkReference, type SdkReferenceError } from "../site/sdk-reference/build.mjs";
import { loadTypescript } from "../site/sdk-reference/typescript.mjs";
import { ROOT } from "./support/repository.ts";

/** Why the compiler is not here; empty if it is. */
const missing = await loadTypescript().then(
  () => "",
  (error: Error) => error.message,
);
if (missing !== "") process.stderr.write(`the SDK reference is left out: ${missing}\n`);

function needTypescript({ skip }: TestContext): void {
  skip(missing !== "", missing);
}

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "bigpeer-reference-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
}

const ENTRY = "packages/peer/src/index.ts";

/** What is wrong when index.ts also exports these declarations. */
async function complaintsAbout(declarations: string, names: string): Promise<readonly string[]> {
  const entry = readFileSync(join(ROOT, ENTRY), "utf8");
  const files = {
    "packages/peer/src/planted.ts": declarations,
    [ENTRY]: `${entry}\nexport { ${names} } from "./planted.ts";\n`,
  };
  const folder = join(temporaryFolder(), "new");
  const error = await buildSdkReference(folder, { files }).then(
    () => undefined,
    (thrown: SdkReferenceError) => thrown,
  );
  expect(existsSync(folder)).toBe(false);
  return error?.complaints ?? [];
}

test("the sources of the SDK pass, and the pages have no tags and no dead links", async (context) => {
  needTypescript(context);
  const folder = temporaryFolder();
  const pages = await buildSdkReference(folder);
  const names = pages.map(({ path }) => path);
  expect(readdirSync(folder).toSorted()).toEqual(names.toSorted());
  expect(pages[0]).toEqual({ path: "index.md", title: "SDK reference" });
  const texts = new Map(names.map((name) => [name, readFileSync(join(folder, name), "utf8")]));
  for (const [name, text] of texts) {
    expect(text, name).not.toContain(ROOT);
    expect(withoutCode(text), name).not.toContain("<");
    expect(findDeadLinks(text, name, texts), name).toEqual([]);
  }
  const store = texts.get("store.md") ?? "";
  expect(store).toContain("### PeerDocuments.execute()\n\n```ts\nexecute<T = PlainObject>(");
  expect(store).toContain("| `args?` | [`Arguments`](store.md#arguments) | A value for each");
  expect(store).toContain("- `operation.refused`: the write has about 16 MB or more.");
});

function withoutCode(text: string): string {
  return text.replaceAll(/^```[^]*?^```$/gm, "").replaceAll(/`[^`\n]*`/g, "");
}

/** Links to pages without the file or the heading, and to documents that do not exist. */
function findDeadLinks(text: string, name: string, pages: ReadonlyMap<string, string>): string[] {
  const targets = Array.from(withoutFences(text).matchAll(/\]\(([^)]+)\)/g), ([, to = ""]) => to);
  return targets.filter((target) => {
    const [path = "", anchor] = target.split("#");
    const page = path.startsWith("../")
      ? readDocument(path.slice(3))
      : pages.get(path === "" ? name : path);
    if (page === undefined || anchor === undefined) return page === undefined;
    return findHeadings(page).every((heading) => heading.anchor !== anchor);
  });
}

function withoutFences(text: string): string {
  return text.replaceAll(/^```[^]*?^```$/gm, "");
}

function readDocument(name: string): string | undefined {
  const path = join(ROOT, "docs", name);
  return existsSync(path) ? readFileSync(path, "utf8") : undefined;
}

test("a symbol or member without documentation, and a symbol without an example, are named", async (context) => {
  needTypescript(context);
  const planted = `export interface Bare {
  readonly size: number;
}
/** Described. */
export function grow(by: number): number {
  return by;
}
/**
 * Described.
 *
 * @example
 * const tall: Tall = { height: 1 };
 */
export interface Tall {
  height: number | Inner;
  /** Makes it taller. */
  raise?(by: number): void;
}
interface Inner {
  a: number;
}
`;
  const complaints = await complaintsAbout(planted, "type Bare, grow, type Tall");
  expect(complaints.toSorted()).toEqual([
    `${ENTRY}:1: Bare is not on one page of site/sdk-reference/pages.mjs`,
    `${ENTRY}:1: Tall is not on one page of site/sdk-reference/pages.mjs`,
    `${ENTRY}:1: grow is not on one page of site/sdk-reference/pages.mjs`,
    "packages/peer/src/planted.ts:15: Inner is in a public signature and is not exported",
    "packages/peer/src/planted.ts:15: Tall.height has no doc comment",
    "packages/peer/src/planted.ts:17: Tall.raise has no @param by",
    "packages/peer/src/planted.ts:1: Bare has no @example",
    "packages/peer/src/planted.ts:1: Bare has no doc comment",
    "packages/peer/src/planted.ts:2: Bare.size has no doc comment",
    "packages/peer/src/planted.ts:5: grow has no @example",
    "packages/peer/src/planted.ts:5: grow has no @param by",
  ]);
});

test("an example that does not compile, an unknown code, tag or link are named", async (context) => {
  needTypescript(context);
  const planted = `/**
 * Grows {@link Nothing}, see docs/none.md.
 *
 * @param by - How far.
 * @param to - How high.
 * @throws \`store.lost\`: never.
 * @throws when it is full.
 * @author none
 * @example
 * const size = grow(1);
 * grow("2");
 */
export function grow(by: number): number {
  return by;
}
`;
  const place = "packages/peer/src/planted.ts";
  const complaints = await complaintsAbout(planted, "grow");
  expect(complaints.filter((text) => text.startsWith(place)).toSorted()).toEqual([
    `${place}:11: grow: Argument of type 'string' is not assignable to parameter of type 'number'.`,
    `${place}:13: grow has a @param to of no parameter`,
    `${place}:13: grow has a @throws that does not begin with \`a.code\`:`,
    `${place}:13: grow has a @throws with the unknown code store.lost`,
    `${place}:13: grow has an unknown tag @author`,
    `${place}:13: grow links to Nothing, which is not exported`,
    `${place}:13: grow names docs/none.md, which does not exist`,
  ]);
});

test("the command writes the pages, and needs a folder", async (context) => {
  needTypescript(context);
  const command = join(ROOT, "site", "sdk-reference", "build.mjs");
  const folder = join(temporaryFolder(), "pages");
  const { stdout } = await promisify(execFile)(process.execPath, [command, folder]);
  expect(stdout).toBe(`wrote 9 pages of the SDK reference to ${folder}\n`);
  expect(existsSync(join(folder, "peer.md"))).toBe(true);
  await expect(promisify(execFile)(process.execPath, [command])).rejects.toMatchObject({
    code: 1,
    stderr: "expected one folder: node site/sdk-reference/build.mjs OUT\n",
  });
});
