/**
 * What keeps packages from being released, and in which order they are published.
 */
import { expect, test } from "vitest";
import { entryOf, faultsOf, type Manifest, publishOrder } from "../scripts/release-plan.mjs";

const CHANGELOG = `# Changelog

## 1.1.0 (unreleased)

New.

## 1.0.0 (2026-01-02)

### First

Old.
`;

const repository = { type: "git" };

const manifests: Manifest[] = [
  {
    name: "bigpeer",
    version: "1.0.0",
    repository,
    dependencies: { "@bigpeer/a": "1.0.0", pino: "3.0.0" },
  },
  { name: "@bigpeer/a", version: "1.0.0", repository, peerDependencies: { "@bigpeer/b": "1.0.0" } },
  { name: "@bigpeer/b", version: "1.0.0", repository },
];

const checkout = {
  version: "1.0.0",
  manifests,
  entry: entryOf(CHANGELOG, "1.0.0"),
  tags: ["v1.0.0", "latest"],
  changes: "",
};

test("the entry of a version ends before the next one, and may have a date", () => {
  expect(entryOf(CHANGELOG, "1.0.0")).toEqual({
    text: "## 1.0.0 (2026-01-02)\n\n### First\n\nOld.",
    isDated: true,
  });
  expect(entryOf(CHANGELOG, "1.1.0")).toEqual({
    text: "## 1.1.0 (unreleased)\n\nNew.",
    isDated: false,
  });
  expect(entryOf(CHANGELOG, "1.1")).toBeUndefined();
  expect(entryOf(CHANGELOG, "2.0.0")).toBeUndefined();
});

test("a clean checkout with its tag and its entry can be released", () => {
  expect(faultsOf(checkout)).toEqual([]);
});

test.each([
  ["another version", { version: "1.0.1", tags: ["v1.0.1"] }, /^expected version 1\.0\.1 of/],
  ["no tag", { tags: [""] }, /^the commit has no tag v1\.0\.0$/],
  ["changes", { changes: " M README.md" }, /not committed$/],
  ["no entry", { entry: undefined }, /^no entry for 1\.0\.0/],
  ["an entry without a date", { entry: { text: "", isDated: false } }, /has no date$/],
  [
    "a dependency of another version",
    {
      manifests: [
        {
          name: "@bigpeer/a",
          version: "1.0.0",
          repository,
          dependencies: { "@bigpeer/b": "^1.0.0" },
        },
      ],
    },
    /^expected @bigpeer\/b 1\.0\.0 in @bigpeer\/a, found \^1\.0\.0$/,
  ],
  [
    "no repository",
    { manifests: [{ name: "@bigpeer/b", version: "1.0.0" }] },
    /^no repository in the manifest of @bigpeer\/b$/,
  ],
])("a checkout with %s cannot be released", (_, change, message) => {
  expect(faultsOf({ ...checkout, ...change })[0]).toMatch(message);
});

test("a package is published after those that it depends on", () => {
  const names = publishOrder(manifests).map(({ name }) => name);
  expect(names).toEqual(["@bigpeer/b", "@bigpeer/a", "bigpeer"]);
});
