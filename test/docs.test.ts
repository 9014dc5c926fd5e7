/**
 * The documents are held to the code. The first half applies the checks to the repository; the second
 * half shows that each check finds a planted fault.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ERROR_CODES } from "../packages/protocol/src/error.ts";
import type { FieldChecks } from "../packages/protocol/src/sync/field-check.ts";
import {
  LINK_FIELDS,
  PEER_FIELDS,
  SERVER_FIELDS,
} from "../packages/protocol/src/sync/message-fields.ts";
import { SETTINGS } from "../packages/server/src/config/settings.ts";
import {
  checkErrorCodes,
  checkLinks,
  checkMessages,
  checkRules,
  checkSettings,
  checkVariables,
  findRules,
} from "./support/documents.ts";
import { ROOT, readFiles, type SourceFile } from "./support/repository.ts";

const documents = readFiles([".md"]);
const files = readFiles([".ts"]);

function getDocument(path: string): SourceFile {
  const found = documents.find((document) => document.path === path);
  if (found === undefined) throw new Error(`${path} does not exist`);
  return found;
}

test("every rule is defined once and cited by a test, and every citation names a rule", () => {
  const specifications = documents.filter(({ path }) => path.startsWith("docs/"));
  for (const path of ["docs/data-model.md", "docs/storage-format.md"]) {
    expect(findRules([getDocument(path)]).length, path).toBeGreaterThan(0);
  }
  expect(checkRules(specifications, files)).toEqual([]);
});

test("every error code has an entry in docs/errors.md, and every entry has a code", () => {
  expect(ERROR_CODES.length).toBeGreaterThan(0);
  expect(checkErrorCodes(ERROR_CODES, getDocument("docs/errors.md"))).toEqual([]);
});

test("every setting has a matching row in docs/operating.md, and every row has a setting", () => {
  expect(SETTINGS.length).toBeGreaterThan(0);
  expect(checkSettings(SETTINGS, getDocument("docs/operating.md"))).toEqual([]);
});

test("every sync message has a table in docs/sync-protocol.md with the fields of the code", () => {
  // A link adds a field to ping; its other messages are those of peers and servers.
  const kinds: { readonly [kind: string]: FieldChecks } = {
    ...PEER_FIELDS,
    ...SERVER_FIELDS,
    ...LINK_FIELDS,
  };
  const messages = Object.entries(kinds).map(([kind, fields]) => {
    const names = Object.entries(fields).map(([name, check]) =>
      "optional" in check ? `${name}?` : name,
    );
    return [kind, names] as const;
  });
  expect(messages.length).toBeGreaterThan(30);
  expect(checkMessages(Object.fromEntries(messages), getDocument("docs/sync-protocol.md"))).toEqual(
    [],
  );
});

test("every relative link in a document resolves", () => {
  expect(checkLinks(documents, (path) => existsSync(join(ROOT, path)))).toEqual([]);
});

test("every variable in the commands of a document has its value there", () => {
  expect(checkVariables(documents)).toEqual([]);
});

function plant(path: string, text: string): SourceFile {
  return { path, text };
}

test("a rule that no test cites, a second definition and a malformed rule are found", () => {
  const document = plant(
    "docs/a.md",
    "**D1.** One.\n\n**D2.** Two.\n\n**D2.** Again.\n**D3:** No.\n- **D4.** No.\n",
  );
  const tests = plant("test/a.test.ts", 'test.each([1])("[" + "D1]", f);\ntest(`[D2] two`, f);');
  expect(checkRules([document], [tests])).toEqual([
    "docs/a.md:6: write a rule as **D12.** at the line's start",
    "docs/a.md:7: write a rule as **D12.** at the line's start",
    "docs/a.md:1: no test quotes [D1]",
    "docs/a.md:5: D2 is defined before, at docs/a.md:3",
  ]);
});

test("a citation counts only in the title of a test, and must name a rule", () => {
  const document = plant("docs/a.md", "**D1.** One.\n");
  const tests = [
    plant("test/a.test.ts", '// [D1]\ndescribe("a", () => {\n  it.each([1])("[D9] %s", f);\n});'),
    plant("packages/engine/src/a.ts", 'test("[D1]");'),
  ];
  expect(checkRules([document], tests)).toEqual([
    "docs/a.md:1: no test quotes [D1]",
    "test/a.test.ts:3: there is no rule D9",
  ]);
});

test("a code without an entry and an entry without a code are found", () => {
  const document = plant("docs/errors.md", "# Errors\n\n## store.full\n\n## store.gone\n");
  expect(checkErrorCodes(["store.full", "id.invalid"], document)).toEqual([
    "docs/errors.md:1: the code id.invalid has no entry",
    "docs/errors.md:5: no such code",
  ]);
});

test("a setting without a row, a row that differs and a row without a setting are found", () => {
  const settings = [
    {
      name: "port",
      flag: "--port",
      argument: "N",
      env: "BIGPEER_PORT",
      default: "1",
      meaning: "a",
    },
    { name: "host", flag: "--host", env: "BIGPEER_HOST", default: "0", meaning: "with --port" },
    { name: "token", env: "BIGPEER_TOKEN", default: "", meaning: "c" },
    { name: "data", env: "BIGPEER_DATA", default: "", meaning: "d" },
  ];
  const rows = [
    "| `port` | `--port N` | `BIGPEER_PORT` | 2 | a |",
    "| `host` | `--host` | `BIGPEER_HOST` | `0` | with `--port` |",
    "| `token` | none | `BIGPEER_TOKEN` | none | c |",
    "| `data-size` | none | `BIGPEER_DATA` | none | d |",
    "| `other` | table |",
  ];
  expect(checkSettings(settings, plant("docs/operating.md", rows.join("\n")))).toEqual([
    "docs/operating.md:1: the setting data has no row",
    "docs/operating.md:1: expected | port | --port N | BIGPEER_PORT | 1 | a |, " +
      "found | port | --port N | BIGPEER_PORT | 2 | a |",
    "docs/operating.md:4: there is no setting data-size",
  ]);
});

test("a message without a table, a missing field and one that is not required are found", () => {
  const rows =
    "| field | type | required |\n| `a` | text | required |\n| `b` | text | required |\n";
  const document = plant("docs/a.md", `#### ping\n\n${rows}\n#### pong\n\n${rows}`);
  const messages = { ping: ["a", "b"], pong: ["a", "b?", "c"], bye: ["a"] };
  expect(checkMessages(messages, document)).toEqual([
    "docs/a.md:7: expected a, b?, c, found a, b",
    "docs/a.md:1: the message bye has no table",
  ]);
});

test("a dead link is found, except in code", () => {
  const text = "[a](b.md) [c](../README.md#here) [d](#gone) [e](https://x.y) `[f](g.md)`\n# Here\n";
  const found = [plant("docs/a.md", text), plant("README.md", "# Here it is\n")];
  expect(checkLinks(found, (path) => path === "README.md")).toEqual([
    "docs/a.md:1: b.md does not exist",
    "docs/a.md:1: ../README.md#here has no such heading",
    "docs/a.md:1: #gone has no such heading",
  ]);
});

test("a variable without a value is found, only in a block of commands", () => {
  const text = "`$A` and\n```sh\nA=1\ncurl $A $B\n```\n$C\n";
  expect(checkVariables([plant("docs/a.md", text)])).toEqual([
    "docs/a.md:4: nobody has said what $B is",
  ]);
});
