/**
 * `GET /`: a page for people, JSON for programs, with links to the documentation and the API.
 */
import { afterAll, expect, test } from "vitest";
import { startPageEndpoint } from "../../src/documentation/start-page.ts";
import { listenHttp } from "../../src/http/http-server.ts";
import { Router } from "../../src/http/router.ts";

const log = (): void => {};
const router = new Router({ endpoints: [startPageEndpoint("1.2.3")], dataEndpoints: [], log });
const answer = router.answer.bind(router);
const server = await listenHttp({ host: "127.0.0.1", port: 0, answer, log });
afterAll(() => server.close());

function get(accept?: string): Promise<Response> {
  return fetch(server.url, { headers: accept === undefined ? {} : { accept } });
}

const BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";

test("[H53] a browser gets a page with links to the documentation and the API", async () => {
  const response = await get(BROWSER);
  expect(response.status).toBe(200);
  expect(response.headers.get("content-type")).toBe("text/html; charset=utf-8");
  expect(response.headers.get("content-security-policy")).toContain("default-src 'none'");
  expect(response.headers.get("vary")).toContain("accept");
  const text = await response.text();
  expect(text).toContain("<h1>Big Peer 1.2.3</h1>");
  for (const href of ["docs/", "docs/api", "openapi.json", "readyz"]) {
    expect(text).toContain(`<a href="${href}">`);
  }
  expect(text).toContain("/api/v4");
});

test.each([undefined, "*/*", "application/json", "application/json, text/html;q=0.5"])(
  "[H53] a client that accepts %s gets JSON with the same links",
  async (accept) => {
    const response = await get(accept);
    expect(response.headers.get("content-type")).toBe("application/json");
    expect(await response.json()).toEqual({
      name: "Big Peer",
      version: "1.2.3",
      links: {
        docs: "/docs/",
        apiDocs: "/docs/api",
        openapi: "/openapi.json",
        api: "/api/v4",
        health: "/readyz",
        metrics: "/metrics",
      },
    });
  },
);

test("[H53] HEAD has no body, another method is 405, another path is not found", async () => {
  const head = await fetch(server.url, { method: "HEAD" });
  expect([head.status, await head.text()]).toEqual([200, ""]);
  expect((await fetch(server.url, { method: "POST" })).status).toBe(405);
  expect((await fetch(`${server.url}/nothing`)).status).toBe(404);
});
