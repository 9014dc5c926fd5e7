/**
 * One of several real server processes that are linked in a ring. Small peers reach it through one
 * proxy, and the one that pulls from it through another: so both find it again when it was killed.
 */

import { randomUUID } from "node:crypto";
import { join } from "node:path";
import type { ValueObject } from "@bigpeer/protocol";
import { onTestFinished } from "vitest";
import type { Script } from "../../../node/test/support/script.ts";
import { temporaryFolder } from "../../../node/test/support/temporary-folder.ts";
import { readExposition } from "../../../server/test/support/exposition.ts";
import { BIG_PEER } from "../../../server/test/support/management-api.ts";
import { type Served, serveFolder } from "../../../server/test/support/served-folder.ts";
import { CuttingProxy } from "./cutting-proxy.ts";

export type Row = { readonly [field: string]: unknown };

export type Queries = { readonly [collection: string]: readonly string[] };

/** One entry of the status of its replication. */
interface RingLink {
  readonly direction: string;
  readonly state: string;
  readonly lag: { readonly transactions: number | null };
  readonly subscriptions: readonly { readonly state: string }[];
}

const APP = "shop";
const APP_ID = randomUUID();
const SECRET = randomUUID();
const EVERYTHING = { everything: true };

export class RingServer {
  readonly name: string;
  readonly appId: string = APP_ID;
  readonly #script: Script;
  readonly #dataDir: string;
  #served: Served | undefined;
  #peers: CuttingProxy | undefined;
  #links: CuttingProxy | undefined;
  apiKey = "";
  kills = 0;

  private constructor(name: string, script: Script) {
    this.name = name;
    this.#script = script;
    this.#dataDir = join(temporaryFolder(), name);
  }

  /** With the app that all of them have, and nothing in it. */
  static async start(name: string, script: Script): Promise<RingServer> {
    const made = new RingServer(name, script);
    await made.open();
    await made.manage("POST", "/app", { name: APP, appId: APP_ID });
    const permissions = { read: EVERYTHING, write: EVERYTHING };
    const key = await made.manage("POST", `/app/${APP}/apiKey`, { name: "ring", permissions });
    made.apiKey = key as string;
    await made.manage("PATCH", `/app/${APP}/settings`, { unknownCollectionsAreEmpty: true });
    return made;
  }

  /** Where small peers find it, however often it is started anew. */
  get peers(): CuttingProxy {
    if (this.#peers === undefined) throw new Error("expected a server that runs");
    return this.#peers;
  }

  /** Where others link with it. */
  get links(): CuttingProxy {
    if (this.#links === undefined) throw new Error("expected a server that runs");
    return this.#links;
  }

  get isUp(): boolean {
    return this.#served !== undefined;
  }

  async open(): Promise<void> {
    const words = ["--replication-port", "0", "--log-level", "warn"];
    const env = { BIGPEER_REPLICATION_SECRET: SECRET };
    const served = await serveFolder(this.#script, this.#dataDir, words, env);
    const linkUrl = /^ +links +(\S+)/m.exec(served.process.stdout)?.[1] ?? "";
    this.#peers = await this.#follow(this.#peers, served.url);
    this.#links = await this.#follow(this.#links, linkUrl);
    this.#served = served;
  }

  async #follow(proxy: CuttingProxy | undefined, url: string): Promise<CuttingProxy> {
    const port = Number(new URL(url).port);
    if (proxy !== undefined) {
      proxy.moveTo(port);
      return proxy;
    }
    const made = await CuttingProxy.open(port);
    onTestFinished(() => made.close());
    return made;
  }

  /** What it has not made durable is gone. */
  async kill(): Promise<void> {
    const served = this.#server();
    this.#served = undefined;
    this.kills++;
    served.process.kill("SIGKILL");
    await served.process.ended;
  }

  /** What it has said to whoever looks after it. */
  get log(): string {
    return this.#server().process.stderr;
  }

  /** Pulls what the queries select from another one. */
  async pullFrom(source: RingServer, queriesByCollection: Queries): Promise<void> {
    const connections = [new URL(source.links.url).host];
    const body = { name: `from-${source.name}`, connections, queriesByCollection };
    await this.manage("POST", `/app/${APP}/bigPeerReplication`, body);
  }

  async linkOf(source: RingServer): Promise<RingLink | undefined> {
    const path = `/app/${APP}/bigPeerReplication/from-${source.name}/status`;
    const { links } = (await this.manage("GET", path)) as { readonly links: readonly RingLink[] };
    return links.find(({ direction }) => direction === "dial");
  }

  async manage(method: string, path: string, body?: object): Promise<unknown> {
    const url = `${this.#server().managementUrl}${BIG_PEER}${path}`;
    return this.#json(method, url, body, { "content-type": "application/json" });
  }

  /** A call of the data API. Rejects unless it succeeds. */
  async call(path: string, body: object, headers: Record<string, string> = {}): Promise<Row> {
    const authorization = `Bearer ${this.apiKey}`;
    const all = { "content-type": "application/json", authorization, ...headers };
    return (await this.#json("POST", `${this.#server().url}/api/v4${path}`, body, all)) as Row;
  }

  async rows(statement: string, args: ValueObject = {}): Promise<readonly Row[]> {
    const { items } = await this.call("/store/execute", { statement, args });
    return items as readonly Row[];
  }

  /** All documents of a collection, in the order of their ids. */
  all(collection: string): Promise<readonly Row[]> {
    return this.rows(`SELECT * FROM ${collection} ORDER BY _id`);
  }

  /** Its last transaction. */
  async txn(): Promise<number> {
    const { transactionId } = await this.call("/store/execute", {
      statement: "SELECT * FROM system:dual",
    });
    return transactionId as number;
  }

  /** Documents that came over its links and went over them, since it was started. */
  async crossed(): Promise<readonly [string, number][]> {
    const text = await (await fetch(`${this.#server().url}/metrics`)).text();
    const { samples } = readExposition(text);
    return [...samples].filter(
      ([name]) =>
        name.startsWith("bigpeer_replication_documents_total") && name.includes(this.appId),
    );
  }

  #server(): Served {
    if (this.#served === undefined) throw new Error(`expected that ${this.name} runs`);
    return this.#served;
  }

  async #json(
    method: string,
    url: string,
    body: object | undefined,
    headers: Record<string, string>,
  ): Promise<unknown> {
    const init = body === undefined ? { method } : { method, headers, body: JSON.stringify(body) };
    const response = await fetch(url, init);
    const answer: unknown = await response.json();
    if (response.ok) return answer;
    const text = JSON.stringify(answer);
    throw new Error(`expected success of ${url} on ${this.name}: ${response.status} ${text}`);
  }
}
