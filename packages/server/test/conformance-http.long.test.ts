/**
 * The statement language against the recorded cases, through HTTP: a started server, requests and
 * answers in JSON.
 *
 * JSON has no binary and no NaN, so expectations are compared as JSON leaves them; cases whose
 * arguments JSON cannot say are left out, by name. An answer does not tell the class of an error, so
 * any refusal with status 400 counts.
 */
import { join } from "node:path";
import {
  PeerError,
  parseJson,
  stringifyJson,
  type Value,
  type ValueObject,
} from "@bigpeer/protocol";
import { expect, test } from "vitest";
import { type Case, readCases } from "../../engine/test/conformance/cases.ts";
import { DIFFERENCES } from "../../engine/test/conformance/differences.ts";
import { type Answer, complainAbout, textOf } from "../../engine/test/conformance/runner.ts";
import { testHost } from "../../node/test/support/store-host.ts";
import { temporaryFolder } from "../../node/test/support/temporary-folder.ts";
import { type RunningServer, startServer } from "../src/server.ts";
import { testConfig } from "./support/test-config.ts";

/** Binary, NaN, and an integer of more than 64 bits. */
const CANNOT_BE_SAID: readonly string[] = [
  "errors/arguments/select-1-as-r-from-system-dual",
  "errors/arguments/select-p-as-r-from-system-dual",
  "errors/arguments/select-p-as-r-from-system-dual-2",
  "errors/arguments/select-p-as-r-from-system-dual-3",
  "errors/arguments/select-p-as-r-from-system-dual-6",
  "insert/params/insert-into-c-documents-d-10",
  "insert/ids/insert-into-c-documents-d",
  "literals/parameters/p-16",
  "literals/parameters/p-17",
  "literals/binary/select-b-from-c-where-id-eq-1",
  "literals/binary/select-id-from-c-order-by-b",
  "literals/binary/select-id-from-c-order-by-b-desc",
  "literals/binary/select-length-b-as-n-from-c-where-id-eq-1",
  "literals/binary/select-b-0-as-n-from-c-where-id-eq-1",
  "literals/binary/select-b-cat-b-as-n-from-c-where-id-eq-1",
  "literals/binary/select-cast-b-as-string-as-n-from-c-where-id-eq",
  "literals/binary/select-serialize-json-b-as-n-from-c-where-id-eq",
  "select/order-by-mixed/select-id-v-from-c-order-by-v-id",
  "select/order-by-mixed/select-id-from-c-order-by-v-asc-id-desc",
  "select/order-by-mixed/select-id-from-c-order-by-type-v-id",
  "select/order-by-mixed/select-id-from-c-order-by-v-is-null-v-is-missing",
  "select/order-by-mixed/select-id-from-c-order-by-minus-v-id",
  "select/order-by-mixed/select-id-from-c-order-by-v-plus-1-id",
  "update/set-params/update-c-set-a-eq-v-where-id-eq-1-4",
];

function throughJson(value: Value): Value {
  return parseJson(stringifyJson(value));
}

function isLost(args: ValueObject): boolean {
  return textOf(throughJson(args)) !== textOf(args);
}

/** Whether JSON can say all that the case asks. */
function canBeSaid({ setup = [], then = [], ...given }: Case): boolean {
  return [...setup, given, ...then].every(({ args = {} }) => !isLost(args));
}

/** A known difference between two errors cannot be seen here. */
function canBeSeen({ name, expect: expected }: Case): boolean {
  return !(DIFFERENCES.has(name) && expected.error !== undefined);
}

async function start(): Promise<RunningServer> {
  const dataDir = join(temporaryFolder(), "data");
  const config = testConfig({ dataDir, statementTimeoutMs: 10_000 });
  return await startServer(config, testHost());
}

async function execute(
  { url, quickstart }: RunningServer,
  statement: string,
  args: unknown,
): Promise<Answer> {
  const response = await fetch(`${url}/api/v4/store/execute`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${quickstart?.shown?.apiKey}`,
      "content-type": "application/json",
    },
    body: stringifyJson({ statement, args: args as Value }),
  });
  const text = await response.text();
  if (response.status === 400) throw new PeerError("query.evaluation", text);
  if (response.status !== 200) throw new Error(`status ${response.status}: ${text}`);
  const { items, mutatedDocumentIds } = parseJson(text) as unknown as Answer;
  return { items, mutatedDocumentIds };
}

/** The class cannot be seen, so it is taken to be the expected one. */
function classify(error: unknown, expected: string): string {
  return error instanceof PeerError ? expected : "no refusal";
}

test("all but a few of the recorded cases can be expressed in JSON", () => {
  const left = readCases().filter((each) => !canBeSaid(each));
  expect(left.map(({ name }) => name)).toEqual(CANNOT_BE_SAID);
});

test("every recorded case has the recorded result over HTTP, or is a known difference", async () => {
  const server = await start();
  const executor = {
    execute: (statement: string, args: unknown) => execute(server, statement, args),
  };
  const cases = readCases().filter((each) => canBeSaid(each) && canBeSeen(each));
  const options = { seen: throughJson, classify };
  expect(await complainAbout(cases, executor, DIFFERENCES, options)).toEqual([]);
  await server.close();
});
