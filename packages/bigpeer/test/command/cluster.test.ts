/**
 * `bigpeer cluster status` against servers alone and a node of a cluster that is played.
 */

import { expect, test } from "vitest";
import { startHttpServer } from "../support/http-server.ts";
import { ADMIN_TOKEN, runBigpeer, startTestServer } from "../support/run-bigpeer.ts";

const STATUS = {
  cluster: "shop",
  nodes: [
    {
      node: "a",
      url: "http://a:8080",
      version: "0.1.0",
      isAlive: true,
      ageSeconds: 1,
      stores: [{ store: "s1", role: "evaluates", transactionId: 12 }],
    },
    {
      node: "b",
      url: "http://b:8080",
      version: "0.1.0",
      isAlive: false,
      stores: [{ store: "s1", role: "follows", transactionId: 9 }],
    },
  ],
};

test("a terminal shows the nodes and how far their stores lag, a pipe gets JSON", async () => {
  const { env } = await startHttpServer((_, response) => {
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(STATUS));
  });
  const words = ["cluster", "status"];
  const shown = await runBigpeer(words, { env, isTerminal: true });
  expect(shown).toMatchObject({ code: 0 });
  expect(shown.stdout).toContain("node a  http://a:8080  version 0.1.0  age 1 s\n");
  expect(shown.stdout).toMatch(/ s1 +follows +transaction 9 {2}lag 3\n/);
  for (const format of [[], ["--json"], ["--format", "json"]]) {
    const { stdout } = await runBigpeer([...words, ...format], { env });
    expect(JSON.parse(stdout)).toEqual(STATUS);
  }
});

test("the management API is found as by other commands, and refusals have their exit codes", async () => {
  const server = await startTestServer();
  const { BIGPEER_MANAGEMENT_URL = "", ...rest } = server.env;
  const words = ["cluster", "status"];
  const alone = await runBigpeer(words, { env: server.env, isTerminal: true });
  expect(alone).toMatchObject({ code: 0, stdout: "this server is not in a cluster\n" });
  const named = await runBigpeer([...words, "--url", BIGPEER_MANAGEMENT_URL], { env: rest });
  expect(named).toMatchObject({ code: 0, stdout: '{"cluster":null,"nodes":[]}\n' });
  const refused = { ...server.env, BIGPEER_ADMIN_TOKEN: `not ${ADMIN_TOKEN}` };
  expect(await runBigpeer(words, { env: refused })).toMatchObject({ code: 3, stdout: "" });
  const away = { ...server.env, BIGPEER_MANAGEMENT_URL: "http://127.0.0.1:1" };
  expect(await runBigpeer(words, { env: away })).toMatchObject({ code: 3, stdout: "" });
  expect(await runBigpeer(words)).toMatchObject({ code: 3, stdout: "" });
});
