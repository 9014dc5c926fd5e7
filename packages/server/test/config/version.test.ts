import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { VERSION } from "../../src/config/version.ts";

test("the version is the one of the package", () => {
  const text = readFileSync(new URL("../../package.json", import.meta.url), "utf8");
  expect(JSON.parse(text)).toMatchObject({ version: VERSION });
});
