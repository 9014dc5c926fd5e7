/**
 * A data folder that is served by a real process: started, asked, killed and started again.
 */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { decodeCbor, parseJson, stringifyJson, type Value } from "@bigpeer/protocol";
import { expect } from "vitest";
import type { Script } from "../../../node/test/support/script.ts";
import type { QuickstartContent } from "../../src/registry/quickstart.ts";
import { BigpeerProcess, type Outcome } from "./bigpeer-process.ts";
import { type Exposition, readExposition } from "./exposition.ts";
import { type RawAnswer, RawConnection, requestBytes } from "./raw-connection.ts";

/** A server that runs, and what it takes to ask it. */
export interface Served extends QuickstartContent {
  readonly url: string;
  readonly process: BigpeerProcess;
}

/** `words` are settings of the command line, `env` is what the process has beside its own. */
export async function serveFolder(
  script: Script,
  dataDir: string,
  words: readonly string[] = [],
  env: Record<string, string> = {},
): Promise<Served> {
  const settings = ["--data-dir", dataDir, "--port", "0", ...words];
  const process = new BigpeerProcess(script, settings, env);
  const url = await process.url();
  const text = readFileSync(join(dataDir, "quickstart.json"), "utf8");
  return { ...(JSON.parse(text) as QuickstartContent), url, process };
}

/** What `bigpeer verify` says of a folder. */
export function verifyFolder(script: Script, dataDir: string): Promise<Outcome> {
  return new BigpeerProcess(script, ["verify", "--data-dir", dataDir]).ended;
}

/** A call of the data API in JSON; `path` is what follows the version. */
export function callBytes(
  { url, apiKey }: Served,
  path: string,
  body: Value,
  headers: readonly (readonly [name: string, value: string])[] = [],
): Uint8Array {
  return requestBytes({
    method: "POST",
    target: `/api/v4${path}`,
    headers: [
      ["Host", new URL(url).host],
      ["Authorization", `Bearer ${apiKey}`],
      ["Content-Type", "application/json"],
      ...headers,
    ],
    body: stringifyJson(body),
  });
}

/** The upload of an attachment. */
export function uploadBytes({ url, apiKey }: Served, content: string): Uint8Array {
  const boundary = "boundary-of-an-upload";
  const disposition = 'Content-Disposition: form-data; name="file"; filename="a.bin"';
  return requestBytes({
    method: "POST",
    target: "/api/v4/attachments/upload",
    headers: [
      ["Host", new URL(url).host],
      ["Authorization", `Bearer ${apiKey}`],
      ["Content-Type", `multipart/form-data; boundary=${boundary}`],
    ],
    body: `--${boundary}\r\n${disposition}\r\n\r\n${content}\r\n--${boundary}--\r\n`,
  });
}

/** The body of an answer, by its content type. Throws when it is none. */
export function bodyOf({ headers, bytes }: RawAnswer): Value {
  const type = headers.get("content-type");
  if (type === "application/cbor") return decodeCbor(bytes);
  if (type !== "application/json") throw new Error(`expected JSON or CBOR, found ${type}`);
  return parseJson(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
}

/** The body of a call that must succeed, on a connection of its own. */
export async function callOnce(served: Served, path: string, body: Value): Promise<Value> {
  return bodyOf(await askOnce(served, callBytes(served, path, body)));
}

/** The id of an attachment with this content. */
export async function uploadOnce(served: Served, content: string): Promise<string> {
  const body = bodyOf(await askOnce(served, uploadBytes(served, content)));
  return (body as { readonly id: string }).id;
}

/** The answer of a request that must succeed, on a connection of its own. */
export async function askOnce({ url }: Served, bytes: Uint8Array): Promise<RawAnswer> {
  const connection = await RawConnection.open(url);
  const answer = await connection.ask(bytes);
  connection.destroy();
  if (answer === undefined) throw new Error("expected an answer, found the end of the connection");
  expect(answer.status, Buffer.from(answer.bytes).toString()).toBe(200);
  return answer;
}

/** The figures of the process, asked on a connection that is there already. */
export async function statsOf(served: Served, connection: RawConnection): Promise<Exposition> {
  const headers = [["Host", new URL(served.url).host]] as const;
  const answer = await connection.ask(requestBytes({ method: "GET", target: "/metrics", headers }));
  if (answer === undefined) throw new Error("expected the figures of the process");
  return readExposition(Buffer.from(answer.bytes).toString());
}
