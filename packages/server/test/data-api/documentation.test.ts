/**
 * docs/http-api.md: its requests are sent in their order to a server that has just been started, and
 * the answers are those of the page.
 */

import { parseJson } from "@bigpeer/protocol";
import { expect, test } from "vitest";
import { openDataApi } from "../support/data-api.ts";
import { readDocumentedRequests } from "../support/documented-requests.ts";

test("every request of the page gets the documented answer", async () => {
  const api = await openDataApi();
  const requests = readDocumentedRequests("http-api.md");
  expect(requests.length).toBe(14);
  for (const { method, path, headers, body = "", status, answer } of requests) {
    const response = await fetch(api.server.url + path, {
      method,
      headers: {
        authorization: `Bearer ${api.quickstart.apiKey}`,
        "content-type": "application/json",
        ...headers,
      },
      body,
    });
    const found = parseJson(await response.text());
    expect({ status: response.status, found }, body).toEqual({ status, found: answer });
  }
});
