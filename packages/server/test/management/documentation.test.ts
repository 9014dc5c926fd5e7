/**
 * docs/management.md: its requests are sent in their order to a server that has just been started, and
 * the answers are those of the page. Its tables have every resource and every title.
 */

import { readFileSync } from "node:fs";
import { parseJson } from "@bigpeer/protocol";
import { expect, test } from "vitest";
import { CONSOLE_DATA } from "../../src/management/console-data.ts";
import { RESOURCES } from "../../src/management/management-server.ts";
import { STATUS_OF_TITLE } from "../../src/management/problem.ts";
import { openDataApi } from "../support/data-api.ts";
import { readDocumentedRequests, withAnyEnds } from "../support/documented-requests.ts";

const text = readFileSync(new URL("../../../../docs/management.md", import.meta.url), "utf8");

test("every request of the page gets the documented answer", async () => {
  const { server } = await openDataApi({ managementPort: 0 });
  const requests = readDocumentedRequests("management.md");
  expect(requests.length).toBe(28);
  for (const { method, path, body, status, answer } of requests) {
    const response = await fetch(server.managementUrl + path, {
      method,
      ...(body !== undefined && { body, headers: { "content-type": "application/json" } }),
    });
    const found = parseJson(await response.text());
    const expected = { status, found: withAnyEnds(answer) };
    expect({ status: response.status, found }, `${method} ${path} ${body}`).toEqual(expected);
  }
});

test("the page has a row for every resource, with its methods", () => {
  const rows = [...text.matchAll(/^\| `(\/\S*)` \| ([A-Z, ]+) \|/gm)].map(([, path, methods]) => {
    return { path, methods: methods?.split(", ").toSorted() };
  });
  const byPath = (a: { path?: string | undefined }, b: { path?: string | undefined }): number =>
    (a.path ?? "") < (b.path ?? "") ? -1 : 1;
  const served = [
    ...RESOURCES.map(({ path, methods }) => {
      return { path, methods: Object.keys(methods).toSorted() };
    }),
    ...CONSOLE_DATA.map(({ path, method }) => ({ path, methods: [method] })),
    { path: "/metrics", methods: ["GET"] },
  ];
  expect(rows.toSorted(byPath)).toEqual(served.toSorted(byPath));
});

test("the page has every title of a failure, with its status", () => {
  const rows = [...text.matchAll(/^\| (`[A-Z]\w+`(?:, `\w+`)*) \| (\d{3}) \|/gm)];
  const found = rows.flatMap(([, titles = "", status]) =>
    [...titles.matchAll(/\w+/g)].map(([title]) => [title, Number(status)]),
  );
  expect(Object.fromEntries(found)).toEqual(STATUS_OF_TITLE);
});
