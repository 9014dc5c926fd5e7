/**
 * The data API of a real server, as a client sees it. Every answer is held to the OpenAPI document.
 */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { decodeCbor, encodeCbor, parseJson, type Value } from "@bigpeer/protocol";
import { afterAll } from "vitest";
import { testHost } from "../../../node/test/support/store-host.ts";
import { folderOfFile } from "../../../node/test/support/temporary-folder.ts";
import type { Config } from "../../src/config/config.ts";
import type { QuickstartContent } from "../../src/registry/quickstart.ts";
import { type RunningServer, startServer } from "../../src/server.ts";
import { expectValidAnswer } from "./answer-schema.ts";
import { testConfig } from "./test-config.ts";

export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  /** Decoded by its content type. */
  readonly body: Value;
}

export interface CallOptions {
  readonly headers?: Record<string, string | undefined>;
  /** What stands before the path of the operation. */
  readonly prefix?: string;
  readonly method?: string;
}

const PATHS = {
  count: "/store/count",
  execute: "/store/execute",
  find: "/store/find",
  findbyid: "/store/findbyid",
  write: "/store/write",
  remote_execute: "/sync/remote_execute",
} as const;

export type OperationName = keyof typeof PATHS;

export class DataApi {
  readonly server: RunningServer;
  readonly config: Config;
  readonly quickstart: QuickstartContent;

  constructor(server: RunningServer, config: Config) {
    this.server = server;
    this.config = config;
    const text = readFileSync(join(config.dataDir, "quickstart.json"), "utf8");
    this.quickstart = JSON.parse(text) as QuickstartContent;
  }

  /** Calls an operation with a body in JSON. */
  call(operation: OperationName, body: unknown, options: CallOptions = {}): Promise<Reply> {
    return this.send(operation, JSON.stringify(body), options);
  }

  /** As call, with a value that JSON cannot say. */
  callCbor(operation: OperationName, body: Value, options: CallOptions = {}): Promise<Reply> {
    const headers = { "content-type": "application/cbor", ...options.headers };
    return this.send(operation, encodeCbor(body), { ...options, headers });
  }

  /** Sends a body as it is. */
  async send(
    operation: OperationName,
    body: string | Uint8Array | undefined,
    { headers = {}, prefix = "/api/v4", method = "POST" }: CallOptions = {},
  ): Promise<Reply> {
    const all = {
      authorization: `Bearer ${this.quickstart.apiKey}`,
      "content-type": "application/json",
      ...headers,
    };
    const response = await fetch(this.server.url + prefix + PATHS[operation], {
      method,
      headers: Object.entries(all).flatMap(([name, value]) =>
        value === undefined ? [] : [[name, value] as [string, string]],
      ),
      ...(body !== undefined && { body }),
    });
    const reply = await readReply(response);
    expectValidAnswer({ operation, ...reply });
    return reply;
  }

  /** Runs a statement; throws unless it succeeds. */
  async execute(statement: string, args?: unknown): Promise<Reply> {
    const reply = await this.call("execute", { statement, args });
    if (reply.status !== 200) throw new Error(`${statement}: ${JSON.stringify(reply.body)}`);
    return reply;
  }

  /** Writes documents with upserts in one batch. */
  async upsert(collection: string, documents: Record<string, unknown>): Promise<Reply> {
    const commands = Object.entries(documents).map(([id, value]) => ({
      method: "upsert",
      collection,
      id,
      value,
    }));
    const reply = await this.call("write", { commands });
    if (reply.status !== 200) throw new Error(JSON.stringify(reply.body));
    return reply;
  }
}

async function readReply(response: Response): Promise<Reply> {
  const bytes = new Uint8Array(await response.arrayBuffer());
  const type = response.headers.get("content-type");
  const body =
    type === "application/cbor" ? decodeCbor(bytes) : parseJson(new TextDecoder().decode(bytes));
  return { status: response.status, headers: response.headers, body };
}

/** A server for all tests of a file, closed after them. */
export async function openDataApi(changes: Partial<Config> = {}): Promise<DataApi> {
  const config = testConfig({ dataDir: folderOfFile(), ...changes });
  const server = await startServer(config, testHost());
  afterAll(() => server.close());
  return new DataApi(server, config);
}
