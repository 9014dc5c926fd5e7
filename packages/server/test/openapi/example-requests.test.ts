/**
 * The examples of the OpenAPI document, sent to a server as the page `/docs/api` sends them.
 */

import { expect, test } from "vitest";
import { OPERATION_TEXTS } from "../../src/openapi/operation-texts.ts";
import { type OperationName, openDataApi } from "../support/data-api.ts";

test("every example request is answered with 200, in the format of its example", async () => {
  const api = await openDataApi();
  const examples = Object.entries(OPERATION_TEXTS).flatMap(([operation, text]) =>
    text.examples.map((example) => ({ operation: operation as OperationName, ...example })),
  );
  // What is written is there for those that read.
  const writes = examples.filter(({ name }) => name === "insert" || name === "upsert");
  const reads = examples.filter((example) => !writes.includes(example));
  expect(writes).toHaveLength(2);
  for (const { operation, name, request, response } of [...writes, ...reads]) {
    const { status, body } = await api.call(operation, request);
    const place = `${operation} ${name}: ${JSON.stringify(body)}`;
    expect(status, place).toBe(200);
    expect(Object.keys(body as object), place).toEqual(Object.keys(response as object));
  }
});
