/**
 * The pages of the documentation site without its tools: the list of pages, their links, and what
 * programs read. The first half applies the checks to the repository; the second half shows that they
 * find planted faults.
 */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../packages/node/test/support/temporary-folder.ts";
import { BuildStamp, fingerprintOf } from "../site/build-stamp.mjs";
import { finishSite } from "../site/built-site.mjs";
import { generate, type Repository } from "../site/generate.mjs";
import { anchorOf, findHeadings, findLinks } from "../site/markdown-links.mjs";

test("every page of docs/ is listed, and every link of a page leads somewhere", () => {
  const { faults, pages } = generate();
  expect(faults).toEqual([]);
  expect(pages.length).toBeGreaterThan(30);
});

test("every group of the sidebar has pages, and every page a line about it", () => {
  const { groups, plain } = generate();
  expect(groups.map(({ title }) => title)).toEqual([
    "Tutorial",
    "Guides",
    "Reference",
    "Internals",
  ]);
  for (const { title, pages } of groups) {
    expect(pages.length, title).toBeGreaterThan(0);
    for (const { path, about } of pages) {
      expect(about, path).toMatch(/^\S.*\.$/);
      expect(plain.has(`${path}.md`)).toBe(true);
    }
  }
});

const HOME = '---\nhero:\n  tagline: "A line"\n---\n\n[a](../docs/a.md)\n';

/** A small repository. */
function plant(files: Readonly<Record<string, string>>): Repository {
  const all: Readonly<Record<string, string>> = { "site/index.md": HOME, ...files };
  return { files: Object.keys(all), read: (path) => all[path] ?? "" };
}

const LIST = [
  {
    title: "All",
    pages: [
      { file: "docs/a.md", about: "The page a." },
      { file: "README.md", path: "start", title: "Start", about: "The start." },
      { folder: "docs/more", title: "More", about: "More pages.", summary: "**Decision.**" },
    ],
  },
];

const SOUND = {
  "docs/a.md": "# A\n",
  "README.md": "# Project\n\n## Go `on`\n",
  "docs/more/1-one.md":
    "# 1. One\n\n**Context.** Why.\n\n**Decision.** We do\n`it`: so. And that.\n",
  "src/b.ts": "",
};

test("links lead to the pages of the site, with their anchors", () => {
  const text = [
    "# A",
    "[r](../README.md#go-on) [m](more/1-one.md) [all](more) [self](#a) [w](https://w.example/a.md)",
    "`[code](x.md)` [`a` [b]](a.md 'title')",
    "```\n[fence](x.md)\n```",
    "[ref]: more/1-one.md",
  ].join("\n");
  const { faults, plain } = generate(LIST, plant({ ...SOUND, "docs/a.md": text }));
  expect(faults).toEqual([]);
  expect(plain.get("a.md")).toBe(
    [
      "# A",
      "[r](start.md#go-on) [m](more/1-one.md) [all](more/index.md) [self](#a) [w](https://w.example/a.md)",
      "`[code](x.md)` [`a` [b]](a.md 'title')",
      "```\n[fence](x.md)\n```",
      "[ref]: more/1-one.md",
    ].join("\n"),
  );
  expect(plain.get("index.md")).toContain("[a](a.md)");
});

test("links from a folder, and in the one file with all pages, are relative to where they stand", () => {
  const more = "# One\n\n**Decision.** See.\n\n[r](../../README.md) [a](../a.md#a) [own](#one)\n";
  const { faults, plain } = generate(LIST, plant({ ...SOUND, "docs/more/1-one.md": more }));
  expect(faults).toEqual([]);
  expect(plain.get("more/1-one.md")).toContain("[r](../start.md) [a](../a.md#a) [own](#one)");
  const full = plain.get("llms-full.txt");
  expect(full).toContain("[r](start.md) [a](a.md#a) [own](more/1-one.md#one)");
  expect(full).toContain("- [One](more/1-one.md): See.");
});

test("a link to a file of the repository that is no page becomes text with the path", () => {
  const text =
    "# A\n[src/b.ts](../src/b.ts), [`b.ts`](../src/b.ts), [the code](../src/b.ts), [s](../src)";
  const { faults, plain } = generate(LIST, plant({ ...SOUND, "docs/a.md": text }));
  expect(faults).toEqual([]);
  expect(plain.get("a.md")).toBe("# A\n`src/b.ts`, `src/b.ts`, the code (`src/b.ts`), s (`src`)");
});

test("the list for programs has each page with its line, and that of a folder its summary", () => {
  const { plain } = generate(LIST, plant(SOUND));
  expect(plain.get("llms.txt")).toContain(
    [
      "## All",
      "",
      "- [A](/docs/a.md): The page a.",
      "- [Start](/docs/start.md): The start.",
      "- [More](/docs/more/index.md): More pages.",
      "- [1. One](/docs/more/1-one.md): We do it.",
      "",
    ].join("\n"),
  );
  expect(plain.get("more/index.md")).toBe(
    "# More\n\nMore pages.\n\n- [1. One](1-one.md): We do it.\n",
  );
});

const WITH_REFERENCE = [
  ...LIST,
  {
    title: "Reference",
    pages: [
      {
        generated: "site/dist/reference",
        folder: "src",
        path: "reference",
        title: "Symbols",
        about: "All symbols.",
        pages: [{ file: "b.md", title: "B", about: "The symbol B." }],
      },
    ],
  },
];

test("generated pages are pages, and a link to their sources leads to them", () => {
  const made = {
    ...SOUND,
    "docs/a.md": "# A\n[symbols](../src)\n",
    "site/dist/reference/index.md": "# Symbols\n\n[B](b.md#b)\n",
    "site/dist/reference/b.md": "# B\n\n[a](../../../docs/a.md#a) [all](index.md)\n",
    "site/dist/reference/old.md": "# Old\n",
  };
  const { faults, groups, plain } = generate(WITH_REFERENCE, plant(made));
  expect(faults).toEqual([]);
  const shown = groups[1]?.pages.map(({ path, title, isIndex = false }) => [path, title, isIndex]);
  expect(shown).toEqual([
    ["reference/index", "Symbols", true],
    ["reference/b", "B", false],
  ]);
  expect(plain.get("a.md")).toBe("# A\n[symbols](reference/index.md)\n");
  expect(plain.get("reference/b.md")).toBe("# B\n\n[a](../a.md#a) [all](index.md)\n");
  expect(plain.get("llms.txt")).toContain("- [B](/docs/reference/b.md): The symbol B.\n");
  expect(plain.has("reference/old.md")).toBe(false);
});

test("generated pages that are not made yet are left out; one that is absent or has a dead link is found", () => {
  expect(generate(WITH_REFERENCE, plant(SOUND)).groups[1]?.pages).toEqual([]);
  const made = { ...SOUND, "site/dist/reference/index.md": "# Symbols\n\n[x](x.md)\n" };
  expect(generate(WITH_REFERENCE, plant(made)).faults).toEqual([
    "site/pages.mjs: site/dist/reference/b.md does not exist",
    "site/dist/reference/index.md:3: x.md does not exist",
  ]);
});

test("dead links, dead anchors, images and links that cannot become text are found", () => {
  const text = [
    "# A",
    "[x](x.md) [y](../README.md#gone)",
    "[z](#gone) ![i](i.png) ![j](images/j.png) [out](../../x)",
    "[ref]: ../src/b.ts",
    "[c](../src/b.ts#L1)",
  ].join("\n");
  expect(generate(LIST, plant({ ...SOUND, "docs/a.md": text })).faults).toEqual([
    "docs/a.md:2: x.md does not exist",
    "docs/a.md:2: ../README.md#gone has no such heading",
    "docs/a.md:3: #gone has no such heading",
    "docs/a.md:3: i.png: the site has the images of docs/images/ alone",
    "docs/a.md:3: images/j.png does not exist",
    "docs/a.md:3: ../../x does not exist",
    "docs/a.md:4: ../src/b.ts: write a link to a file of the repository as [text](path)",
    "docs/a.md:5: ../src/b.ts#L1 has no such heading",
  ]);
});

test("a page that is not listed, is listed twice, is absent or has no heading is found", () => {
  const repository = plant({ ...SOUND, "docs/b.md": "text\n", "docs/c/d.md": "# D\n" });
  const pages = [
    { file: "docs/a.md", about: "A." },
    { file: "docs/a.md", path: "api/a", about: "A." },
    { file: "docs/b.md", path: "a" },
    { file: "docs/gone.md", about: "Gone." },
    { folder: "docs/none", title: "None", about: "None." },
  ];
  const { faults } = generate([{ title: "All", pages }], repository);
  expect(faults).toEqual([
    "docs/b.md:1: a page begins with a heading, # Title",
    "site/pages.mjs: docs/b.md needs a line `about`",
    "site/pages.mjs: docs/gone.md does not exist",
    "site/pages.mjs: docs/none has no pages",
    "docs/more/1-one.md:1: the page is not listed in site/pages.mjs",
    "docs/c/d.md:1: the page is not listed in site/pages.mjs",
    "site/pages.mjs: docs/a.md is listed twice",
    "site/pages.mjs: two pages have the path a",
    "site/pages.mjs: api/a is the address of the API page",
  ]);
});

test("anchors are those of a viewer of the repository", () => {
  expect(["`store.full`", "Values, null, MISSING", "a_b c-d", "Über 2"].map(anchorOf)).toEqual([
    "storefull",
    "values-null-missing",
    "a_b-c-d",
    "über-2",
  ]);
  const text = "# A\n## The `b`\n~~~\n# no\n~~~\n## [A](a.md)\n### **A** #\n";
  expect(findHeadings(text).map(({ level, anchor }) => [level, anchor])).toEqual([
    [1, "a"],
    [2, "the-b"],
    [2, "a-1"],
    [3, "a-2"],
  ]);
});

test("links are found with their places, in text alone", () => {
  const text = 'a [b](c.md) ![d](e.png) ``[f](g)`` [h `]` i](<j.md> "k")\n\n[l]: m.md\n';
  const found = findLinks(text).map(({ target, start, end, targetStart, targetEnd }) => {
    expect(text.slice(targetStart, targetEnd)).toBe(target);
    return [target, text.slice(start, end)];
  });
  expect(found).toEqual([
    ["c.md", "[b](c.md)"],
    ["e.png", "![d](e.png)"],
    ["j.md", '[h `]` i](<j.md> "k")'],
    ["m.md", "[l]: m.md"],
  ]);
});

function plantBuilt(files: Readonly<Record<string, string>>): string {
  const folder = temporaryFolder();
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  return folder;
}

test("a sound site gets its list of files, and the hashes of the scripts in its pages", () => {
  const script = `<script>alert("a")</script><script src="/docs/a.js"></script>`;
  const folder = plantBuilt({
    "index.html": `${script}<a href="/docs/b#here">b</a> <a href="./c/">c</a> <a href="https://w.example">w</a>`,
    "b.html": `${script}<h2 id="here"></h2><a href="#here">h</a> <a href="/docs/api">api</a>`,
    "c/index.html": `<a href="../b">b</a><img src="data:,">`,
    "a.js": "",
  });
  finishSite(folder);
  expect(JSON.parse(readFileSync(join(folder, "site.json"), "utf8"))).toEqual({
    scriptHashes: ["sha256-SKV/HgGYXzsfYpUSTmvujMt5ZntUpsb//PekhjFQoL0="],
    files: ["a.js", "b.html", "c/index.html", "index.html"],
  });
});

test("a built site is up to date until its sources, its manifest or its files change", () => {
  const folder = plantBuilt({ "docs-site/index.html": "", "docs-site/a.js": "" });
  const target = join(folder, "docs-site");
  finishSite(target);
  const stamp = new BuildStamp(join(folder, "site", "stamp.txt"), target);
  expect(stamp.isCurrent("1")).toBe(false);
  stamp.write("1");
  expect([stamp.isCurrent("1"), stamp.isCurrent("2")]).toEqual([true, false]);
  rmSync(join(target, "a.js"));
  expect(stamp.isCurrent("1")).toBe(false);
  finishSite(target);
  expect(stamp.isCurrent("1")).toBe(false);
  stamp.write("1");
  expect(stamp.isCurrent("1")).toBe(true);
  stamp.remove();
  expect(stamp.isCurrent("1")).toBe(false);
});

test("a change of a page, a source, a lock file or the names of files is a reason to build", () => {
  const sources = {
    ...SOUND,
    "packages/peer/src/peer.ts": "a",
    "site/package-lock.json": "a",
    "test/a.test.ts": "a",
  };
  const before = fingerprintOf(plant(sources));
  expect(fingerprintOf(plant({ ...sources, "test/a.test.ts": "b" }))).toBe(before);
  for (const path of ["docs/a.md", "README.md", "packages/peer/src/peer.ts", "test/b.test.ts"]) {
    expect(fingerprintOf(plant({ ...sources, [path]: "b" })), path).not.toBe(before);
  }
  expect(fingerprintOf(plant({ ...sources, "site/package-lock.json": "b" }))).not.toBe(before);
});

test("in a built site, dead links and anchors and what is loaded from elsewhere are found", () => {
  const folder = plantBuilt({
    "index.html": `<a href="/docs/gone">g</a> <a href="/docs/b#gone">g</a> <a href="/else">e</a>`,
    "b.html": `<script src="https://w.example/a.js"></script><link rel="stylesheet" href="//w.example/a.css">`,
  });
  expect(() => finishSite(folder)).toThrow(
    [
      "faults of the built site:",
      'b.html: src="https://w.example/a.js" leads outside',
      'b.html: href="//w.example/a.css" leads outside',
      'index.html: href="/docs/gone" leads nowhere',
      'index.html: href="/docs/b#gone" has no such heading',
      'index.html: href="/else" leads outside the site',
    ].join("\n"),
  );
});
