/**
 * Answers of the login, held to the OpenAPI document.
 */

import { parseJson, type Value } from "@bigpeer/protocol";
import { expect, test } from "vitest";
import { expectValidAnswer } from "../support/answer-schema.ts";
import { openDataApi } from "../support/data-api.ts";

const api = await openDataApi();
const { id: appId } = api.server.registry.apps.named("default");
const [provider] = Object.entries(api.server.registry.apps.named("default").authProviders);

interface LoginReply {
  readonly status: number;
  readonly body: Value;
}

/** Every answer must be one of the document. */
async function logIn(
  body: NonNullable<RequestInit["body"]>,
  type = "application/json",
): Promise<LoginReply> {
  const init = { method: "POST", headers: { "content-type": type }, body, duplex: "half" as const };
  const response = await fetch(`${api.server.url}/${appId}/auth/login`, init);
  const { status, headers } = response;
  const reply = { status, body: parseJson(await response.text()) };
  expectValidAnswer({ operation: "login", headers, ...reply });
  return reply;
}

function tokenOfProvider(): { readonly provider: string; readonly token: string } {
  const [name, config] = provider ?? ["", undefined];
  return { provider: name, token: config?.type === "anonymous" ? config.sharedToken : "" };
}

test("a login is answered as documented, in JSON and as a form", async () => {
  const given = tokenOfProvider();
  const answer = {
    status: 200,
    body: {
      accessToken: expect.stringMatching(/^[\w-]+\.[\w-]+\.[\w-]+$/),
      accessExpiry: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      userId: expect.any(String),
      clientInfo: null,
    },
  };
  expect(await logIn(JSON.stringify(given))).toEqual(answer);
  const form = new URLSearchParams({ ...given }).toString();
  expect(await logIn(form, "application/x-www-form-urlencoded")).toEqual(answer);
});

test("a failed login is answered as documented", async () => {
  const statuses: number[] = [];
  const note = async (reply: Promise<LoginReply>): Promise<void> => {
    statuses.push((await reply).status);
  };
  await note(logIn("{"));
  await note(logIn(JSON.stringify({ provider: "nobody", token: "none" })));
  await note(logIn(new Blob(["{}"]).stream()));
  await note(logIn(JSON.stringify({ provider: "a", token: "x".repeat(100_000) })));
  await note(logIn("{}", "application/cbor"));
  for (let i = 0; i < 20; i++) await logIn(JSON.stringify({ provider: "nobody", token: "none" }));
  await note(logIn(JSON.stringify({ provider: "nobody", token: "none" })));
  expect(statuses).toEqual([400, 401, 411, 413, 415, 429]);
});
