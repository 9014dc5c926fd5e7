import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { VERSION } from "../src/version.ts";

test("the version in the code is the one of the package", () => {
  const text = readFileSync(new URL("../package.json", import.meta.url), "utf8");
  expect(JSON.parse(text)).toHaveProperty("version", VERSION);
});
