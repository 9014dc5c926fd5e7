/**
 * A browser that is signed in to the console of a real server.
 */

import { parseJson, type Value } from "@bigpeer/protocol";
import type { Config } from "../../src/config/config.ts";
import { answerFaults, expectValidManagementAnswer } from "./answer-schema.ts";
import { type DataApi, openDataApi } from "./data-api.ts";
import { BIG_PEER } from "./management-api.ts";

export interface ConsoleReply {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Value;
}

export class ConsoleClient {
  readonly url: string;
  /** As the browser sends it; undefined when it is signed out. */
  cookie: string | undefined;

  constructor(url: string) {
    this.url = url;
  }

  /** Exchanges a token for a session. */
  async signIn(token: string): Promise<ConsoleReply> {
    const reply = await this.ask("POST", "/console/session", { token });
    const [cookie = ""] = (reply.headers.get("set-cookie") ?? "").split(";");
    if (cookie !== "") this.cookie = cookie;
    return reply;
  }

  /** Sends a request as a page of the console does. */
  ask(
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<ConsoleReply> {
    return this.send(method, path, body === undefined ? undefined : JSON.stringify(body), {
      "sec-fetch-site": "same-origin",
      ...(method !== "GET" && { origin: this.url }),
      ...(body !== undefined && { "content-type": "application/json" }),
      ...headers,
    });
  }

  /** Sends a request with the cookie and these headers alone. */
  async send(
    method: string,
    path: string,
    body: string | undefined,
    headers: Record<string, string>,
  ): Promise<ConsoleReply> {
    const response = await fetch(this.url + path, {
      method,
      headers: { ...headers, ...(this.cookie !== undefined && { cookie: this.cookie }) },
      ...(body !== undefined && { body }),
    });
    const text = await response.text();
    const reply = { status: response.status, headers: response.headers, body: readBody(text) };
    expectValidManagementAnswer({ method, path, ...reply });
    return reply;
  }

  /** Runs a statement on the app `default`. */
  execute(statement: string, rest: Record<string, unknown> = {}): Promise<ConsoleReply> {
    return this.ask("POST", `${BIG_PEER}/app/default/store/execute`, { statement, ...rest });
  }

  /** The items of a statement that must succeed. */
  async items(statement: string, rest: Record<string, unknown> = {}): Promise<Value> {
    const { status, body } = await this.execute(statement, rest);
    if (status !== 200) throw new Error(`${statement}: ${JSON.stringify(body)}`);
    const faults = answerFaults({ operation: "execute", status, headers: JSON_HEADERS, body });
    if (faults.length > 0) throw new Error(faults.join("\n"));
    return (body as { readonly items: Value }).items;
  }

  async get(path: string): Promise<Value> {
    const { status, body } = await this.ask("GET", BIG_PEER + path);
    if (status !== 200) throw new Error(`${path}: ${JSON.stringify(body)}`);
    return body;
  }
}

const JSON_HEADERS = new Headers({ "content-type": "application/json", "x-request-id": "r1" });

/** What is no JSON, such as lines, as text. */
function readBody(text: string): Value {
  try {
    return text === "" ? null : parseJson(text);
  } catch {
    return text;
  }
}

export interface OpenedConsole {
  readonly api: DataApi;
  readonly client: ConsoleClient;
  /** The console token. */
  readonly token: string;
}

/** A server with a browser that is signed in, for all tests of a file. */
export async function openConsole(changes: Partial<Config> = {}): Promise<OpenedConsole> {
  const api = await openDataApi({ managementPort: 0, ...changes });
  const token = tokenOf(api.quickstart.consoleUrl);
  const client = new ConsoleClient(api.server.managementUrl ?? "");
  const { status } = await client.signIn(token);
  if (status !== 200) throw new Error(`expected to be signed in, found ${status}`);
  return { api, client, token };
}

/** The token in a link to the console. */
export function tokenOf(link: string | undefined): string {
  return new URL(link ?? "").hash.slice("#token=".length);
}
