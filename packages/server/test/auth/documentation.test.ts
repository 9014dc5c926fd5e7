/**
 * docs/authentication.md: its requests are sent in their order to a server that has just been
 * started, and the answers are those of the page. Its example of a webhook knows our signatures.
 */

import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { nodePlatform } from "@bigpeer/node";
import { isObject, parseJson } from "@bigpeer/protocol";
import { expect, test } from "vitest";
import { signatureOf } from "../../src/auth/webhook.ts";
import { drawWebhookSecret } from "../../src/registry/auth-provider.ts";
import { openDataApi } from "../support/data-api.ts";
import { readDocumentedRequests, withAnyEnds } from "../support/documented-requests.ts";

const text = readFileSync(new URL("../../../../docs/authentication.md", import.meta.url), "utf8");

function drawSecret(): string {
  return drawWebhookSecret((size) => nodePlatform.random(size));
}

test("every request of the page gets the documented answer", async () => {
  const { server } = await openDataApi({ managementPort: 0 });
  const requests = readDocumentedRequests("authentication.md");
  expect(requests.length).toBe(5);
  let session = "";
  for (const { method, path, headers, body = "", status, answer } of requests) {
    const { Authorization: authorization } = headers;
    const base = path.startsWith("/namespace") ? server.managementUrl : server.url;
    const response = await fetch(base + path, {
      method,
      headers: {
        "content-type": "application/json",
        ...(authorization && { authorization: authorization.replace("<accessToken>", session) }),
      },
      body,
    });
    const found = parseJson(await response.text());
    const expected = { status, found: withAnyEnds(answer) };
    expect({ status: response.status, found }, `${method} ${path} ${body}`).toEqual(expected);
    const given = isObject(found) ? found["accessToken"] : undefined;
    if (typeof given === "string") session = given;
  }
});

/** What the example of the page, run by Node, says of each [header, body, secret]. */
function verified(asked: readonly (readonly [string, string, string])[]): unknown {
  const examples = Array.from(text.matchAll(/^```js\n([\s\S]*?)^```$/gm), ([, code = ""]) => code);
  const example = examples.find((code) => code.includes("isSigned")) ?? "";
  const asking = `${JSON.stringify(asked)}.map((one) => isSigned(...one))`;
  const code = `${example}\nconsole.log(JSON.stringify(${asking}));`;
  const words = ["--input-type=module", "--eval", code];
  return JSON.parse(execFileSync(process.execPath, words, { encoding: "utf8" }));
}

test("[A15] a webhook that verifies as documented accepts our requests, with each of its secrets", () => {
  const [newer, older, other] = [drawSecret(), drawSecret(), drawSecret()];
  const body = '{"token":"tökén"}';
  const now = Math.floor(Date.now() / 1000);
  const header = signatureOf(body, [newer, older], now);
  const late = signatureOf(body, [newer], now - 301);
  const found = verified([
    [header, body, newer],
    [header, body, older],
    [header, body, other],
    [header, `${body} `, newer],
    [late, body, newer],
  ]);
  expect(found).toEqual([true, true, false, false, false]);
});
