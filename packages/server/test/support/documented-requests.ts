/**
 * The requests of a document, with the answers that it promises: a block of HTTP, and the block of
 * JSON after it, whose title is the status where it is not 200.
 */

import { readFileSync } from "node:fs";
import { parseJson, type Value } from "@bigpeer/protocol";
import { expect } from "vitest";

export interface DocumentedRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Record<string, string>;
  /** Undefined where there is none. */
  readonly body: string | undefined;
  status: number;
  answer: Value | undefined;
}

/** `name` is a file of docs/. */
export function readDocumentedRequests(name: string): DocumentedRequest[] {
  const text = readFileSync(new URL(`../../../../docs/${name}`, import.meta.url), "utf8");
  const requests: DocumentedRequest[] = [];
  for (const [, kind, title = "", content = ""] of text.matchAll(
    /^```(\w+)(?: (\d+))?\n([\s\S]*?)^```$/gm,
  )) {
    if (kind === "http") requests.push(readRequest(content));
    const last = requests.at(-1);
    if (kind !== "json" || last === undefined) continue;
    last.status = title === "" ? 200 : Number(title);
    last.answer = parseJson(content);
  }
  return requests;
}

function readRequest(content: string): DocumentedRequest {
  const [head = "", body] = content.trimEnd().split("\n\n");
  const [line = "", ...headerLines] = head.split("\n");
  const [method = "", path = ""] = line.split(" ");
  const headers = Object.fromEntries(headerLines.map((header) => header.split(": ", 2)));
  return { method, path, headers, body, status: 0, answer: undefined };
}

/** What an answer is compared with: a text that ends with `…` stands for all that begin like it. */
export function withAnyEnds(value: Value | undefined): unknown {
  if (typeof value === "string" && value.endsWith("…")) {
    return value === "…" ? expect.anything() : expect.stringMatching(`^${value.slice(0, -1)}`);
  }
  if (Array.isArray(value)) return value.map(withAnyEnds);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, withAnyEnds(one)]));
}
