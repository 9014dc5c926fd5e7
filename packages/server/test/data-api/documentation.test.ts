/**
 * docs/http-api.md: its requests are sent in their order to a server that has just been started, and
 * the answers are those of the page.
 */

import { readFileSync } from "node:fs";
import { parseJson, type Value } from "@bigpeer/protocol";
import { expect, test } from "vitest";
import { openDataApi } from "../support/data-api.ts";

const text = readFileSync(new URL("../../../../docs/http-api.md", import.meta.url), "utf8");

interface Example {
  readonly method: string;
  readonly path: string;
  readonly headers: Record<string, string>;
  readonly body: string;
  status: number;
  answer: Value | undefined;
}

/** A block of HTTP, and the block of JSON after it, whose title is the status where it is not 200. */
function readExamples(): Example[] {
  const examples: Example[] = [];
  for (const [, kind, title = "", content = ""] of text.matchAll(
    /^```(\w+)(?: (\d+))?\n([\s\S]*?)^```$/gm,
  )) {
    if (kind === "http") examples.push(readRequest(content));
    const last = examples.at(-1);
    if (kind !== "json" || last === undefined) continue;
    last.status = title === "" ? 200 : Number(title);
    last.answer = parseJson(content);
  }
  return examples;
}

function readRequest(content: string): Example {
  const [head = "", body = ""] = content.split("\n\n");
  const [line = "", ...headerLines] = head.split("\n");
  const [method = "", path = ""] = line.split(" ");
  const headers = Object.fromEntries(headerLines.map((header) => header.split(": ", 2)));
  return { method, path, headers, body, status: 0, answer: undefined };
}

test("every request of the page is answered as the page says", async () => {
  const api = await openDataApi();
  const examples = readExamples();
  expect(examples.length).toBe(14);
  for (const { method, path, headers, body, status, answer } of examples) {
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
