/**
 * The bounds of answers and of memory over HTTP: what is refused, and that others are served.
 */

import { expect, test } from "vitest";
import { isFullSize } from "../../../protocol/test/support/test-size.ts";
import { ANSWER_SIZE_MAX, BODIES_SIZE_MAX, BODY_SIZE_MAX } from "../../src/limits/limits.ts";
import { openDataApi } from "../support/data-api.ts";
import { readExposition } from "../support/exposition.ts";
import { RawConnection } from "../support/raw-connection.ts";

const api = await openDataApi();

test.runIf(isFullSize)(
  "[H42] an answer that is too large is 400; it can be fetched in pieces",
  async () => {
    // Four documents of which each is below the bound of a body, each shown many times.
    const text = "x".repeat(1024 * 1024);
    for (let i = 0; i < 4; i++) await api.upsert("large", { [`d${i}`]: { text } });
    const copies = Math.ceil(ANSWER_SIZE_MAX / text.length / 4) + 1;
    const list = `[${Array.from({ length: copies }, () => "text").join(",")}]`;
    const { status, body } = await api.call("execute", {
      statement: `SELECT ${list} AS texts FROM large`,
    });
    expect(status).toBe(400);
    const { error } = body as unknown as { error: { description: string } };
    expect(error.description).toContain(`the answer is larger than ${ANSWER_SIZE_MAX} bytes`);
    expect(error.description).toContain("(query.too_large)");
    const { status: less } = await api.call("execute", {
      statement: `SELECT ${list} AS texts FROM large LIMIT 1`,
    });
    expect(less).toBe(200);
  },
);

test.runIf(isFullSize)(
  "[H42] a write returns its result, however large the answer is",
  async () => {
    const text = "x".repeat(1024 * 1024);
    await api.upsert("told", { a: { text } });
    const list = `[${Array.from({ length: 70 }, () => "text").join(",")}]`;
    const statement = `UPDATE told SET n = 1 RETURNING ${list} AS texts`;
    const { status, body } = await api.call("execute", { statement });
    expect(status).toBe(200);
    expect((body as { mutatedDocumentIds?: unknown }).mutatedDocumentIds).toEqual(["a"]);
    const { body: after } = await api.call("count", { collection: "told", query: "n == 1" });
    expect(after).toEqual({ count: 1, txnId: expect.any(Number) });
  },
);

async function requestsInFlight(): Promise<number | undefined> {
  const response = await fetch(`${api.server.url}/metrics`);
  const { samples } = readExposition(await response.text());
  return samples.get("bigpeer_http_requests_in_flight");
}

test("[H5] clients that announce large bodies and send nothing block no other client", async () => {
  const { url } = api.server;
  const head = [
    "POST /api/v4/store/execute HTTP/1.1",
    `Host: ${new URL(url).host}`,
    `Authorization: Bearer ${api.quickstart.apiKey}`,
    "Content-Type: application/json",
    `Content-Length: ${BODY_SIZE_MAX}`,
  ];
  const bytes = Buffer.from(`${head.join("\r\n")}\r\n\r\n{`);
  const idle: RawConnection[] = [];
  for (let i = 0; i <= BODIES_SIZE_MAX / BODY_SIZE_MAX; i++) {
    const connection = await RawConnection.open(url);
    await connection.write(bytes);
    idle.push(connection);
  }
  // And the one that asks for it.
  await expect.poll(requestsInFlight).toBe(idle.length + 1);
  const { status } = await api.call("execute", { statement: "SELECT * FROM system:collections" });
  expect(status).toBe(200);
  for (const connection of idle) connection.destroy();
});
