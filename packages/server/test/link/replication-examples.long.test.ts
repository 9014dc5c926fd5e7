/**
 * The examples of replication are true: two servers as processes of their own, and every call of
 * examples/replication, made by curl, gets the answer that stands there.
 */

import { expect, onTestFinished, test } from "vitest";
import { bundleScript } from "../../../node/test/support/script.ts";
import { runExamples } from "../support/example-run.ts";

test("data flows one way, then both ways, then stops, as the examples state", async () => {
  const script = await bundleScript("server/src/main");
  onTestFinished(() => script.remove());
  const { code, lines } = await runExamples("replication", { BIGPEER: script.path });
  const others = lines.filter((line) => !line.startsWith("ok "));
  expect(others).toEqual([expect.stringMatching(/^\d{2,} calls to http:\S+, 0 failed$/)]);
  expect(code).toBe(0);
}, 180_000);

test("without a program to start it reports an error, with exit code 2", async () => {
  const { code, lines } = await runExamples("replication", { BIGPEER: "/nowhere/main.js" });
  expect(lines).toEqual([
    "examples/replication: /nowhere/main.js does not exist: run npm run build first",
  ]);
  expect(code).toBe(2);
});
