/**
 * A real server with an app that can be linked with others: written to and read by statements, managed
 * over HTTP, closed and started again on the same folder and the same replication port.
 */

import { isDeepStrictEqual } from "node:util";
import type { Value } from "@bigpeer/protocol";
import { onTestFinished, vi } from "vitest";
import { testHost } from "../../../node/test/support/store-host.ts";
import { temporaryFolder } from "../../../node/test/support/temporary-folder.ts";
import type { OpenApp } from "../../src/apps/open-app.ts";
import type { Config } from "../../src/config/config.ts";
import type { LogFields } from "../../src/observability/log.ts";
import { type RunningServer, startServer } from "../../src/server.ts";
import { expectValidManagementAnswer } from "./answer-schema.ts";
import { type Exposition, readExposition } from "./exposition.ts";
import { BIG_PEER } from "./management-api.ts";
import { testConfig } from "./test-config.ts";

export const LINKED_APP = "5f4a3f26-8a6e-4d0f-9f0d-0f3a1c2b4d5e";
export const LINK_SECRET = "a-secret-of-all-big-peers";

/** How long something may take to come over a link. */
const PATIENCE = { timeout: 45_000, interval: 20 };

/** One entry of the status of a replication, as far as tests look at it. */
export interface ShownLink {
  readonly direction: string;
  readonly address: string;
  readonly state: string;
  readonly since: string;
  readonly partner: string | null;
  readonly nextAttemptAt: string | null;
  readonly lastError: { readonly code: string; readonly message: string } | null;
  readonly lag: { readonly transactions: number | null; readonly seconds: number | null };
  readonly pulled: { readonly documents: number; readonly unchanged: number };
  readonly served: { readonly documents: number };
  readonly subscriptions: readonly { readonly collection: string; readonly state: string }[];
}

export interface LoggedLink extends LogFields {
  readonly level: string;
  readonly message: string;
}

export class LinkedServer {
  readonly log: LoggedLink[] = [];
  readonly #config: Config;
  readonly #appId: string;
  #server: RunningServer | undefined;
  #port = 0;

  private constructor(config: Config, appId: string) {
    this.#config = config;
    this.#appId = appId;
  }

  /** Closed when the test ends. */
  static async start(changes: Partial<Config> = {}, appId = LINKED_APP): Promise<LinkedServer> {
    const config = testConfig({
      dataDir: temporaryFolder(),
      managementPort: 0,
      replicationPort: 0,
      replicationSecret: LINK_SECRET,
      ...changes,
    });
    const made = new LinkedServer(config, appId);
    onTestFinished(() => made.close());
    await made.open();
    await made.manage("POST", "/app", { name: "shop", appId });
    return made;
  }

  get server(): RunningServer {
    if (this.#server === undefined) throw new Error("expected a server that runs");
    return this.#server;
  }

  /** `host:port` of its replication port. */
  get address(): string {
    return new URL(this.server.replicationUrl ?? "").host;
  }

  async open(): Promise<void> {
    const log = (level: string, message: string, fields: LogFields = {}): void =>
      void this.log.push({ level, message, ...fields });
    const replicationPort = this.#port === 0 ? this.#config.replicationPort : this.#port;
    this.#server = await startServer({ ...this.#config, replicationPort }, { ...testHost(), log });
    const { replicationUrl } = this.#server;
    if (replicationUrl !== undefined) this.#port = Number(new URL(replicationUrl).port);
  }

  async close(): Promise<void> {
    await this.#server?.close();
    this.#server = undefined;
  }

  /** Closes it, and starts it anew where it was. */
  async restart(): Promise<void> {
    await this.close();
    await this.open();
  }

  /** A call of the management API that must succeed. */
  async manage(method: string, path: string, body?: object): Promise<unknown> {
    const response = await fetch(`${this.server.managementUrl}${BIG_PEER}${path}`, {
      method,
      ...(body && { body: JSON.stringify(body), headers: { "content-type": "application/json" } }),
    });
    const answer = (await response.json()) as Value;
    const { status, headers, ok } = response;
    const whole = BIG_PEER + path;
    expectValidManagementAnswer({ method, path: whole, status, headers, body: answer });
    if (ok) return answer;
    throw new Error(`${method} ${path}: ${status} ${JSON.stringify(answer)}`);
  }

  /** Makes or changes a replication of the app. */
  replicate(method: "POST" | "PATCH", body: object, name = "link"): Promise<unknown> {
    const path = "/app/shop/bigPeerReplication";
    if (method === "POST") return this.manage("POST", path, { name, ...body });
    return this.manage("PATCH", `${path}/${name}`, body);
  }

  async links(name = "link"): Promise<readonly ShownLink[]> {
    const path = `/app/shop/bigPeerReplication/${name}/status`;
    return ((await this.manage("GET", path)) as { readonly links: readonly ShownLink[] }).links;
  }

  /** Resolves with the first link that has come to a state. */
  async until(state: string, name = "link"): Promise<ShownLink> {
    return vi.waitFor(async () => {
      const links = await this.links(name);
      const found = links.find((link) => link.state === state);
      if (found !== undefined) return found;
      throw new Error(`expected a link that is ${state}, found ${JSON.stringify(links)}`);
    }, PATIENCE);
  }

  /** Runs a statement of the app and gives its rows. */
  async run(statement: string, args: Record<string, unknown> = {}): Promise<readonly unknown[]> {
    const request = { statement, args: args as never };
    return this.withApp(async (app) => (await app.statements.execute(request)).items);
  }

  /** Works with the open app. */
  async withApp<T>(work: (app: OpenApp) => T | Promise<T>): Promise<T> {
    const use = await this.server.apps.use(this.#appId);
    try {
      return await work(use.app);
    } finally {
      use.release();
    }
  }

  /** Uploads a content, and returns its id. */
  upload(content: Uint8Array): Promise<string> {
    async function* whole(): AsyncGenerator<Uint8Array> {
      yield content;
    }
    return this.withApp(async (app) => (await app.attachments.add(whole(), "ann")).id);
  }

  /** Writes a document whose field `photo` refers to a content, whether or not that is here. */
  async refer(
    id: string,
    len: number,
    place: readonly [collection: string, id: string] = ["cars", "1"],
  ): Promise<void> {
    const [collection, document] = place;
    const fields = { photo: { id, len, metadata: {} } };
    const types = { photo: "attachment" } as const;
    const operation = { kind: "insert", collection, id: document, fields, types } as const;
    await this.withApp(({ store }) =>
      store.transact((transaction) => void transaction.apply([operation])),
    );
  }

  async put(collection: string, ...documents: object[]): Promise<void> {
    for (const document of documents) {
      const statement = `INSERT INTO ${collection} DOCUMENTS (:d) ON ID CONFLICT DO UPDATE`;
      await this.run(statement, { d: document });
    }
  }

  /** All documents of a collection, in the order of their ids. */
  all(collection: string): Promise<readonly unknown[]> {
    return this.run(`SELECT * FROM ${collection} ORDER BY _id`);
  }

  /** Resolves when a collection is so. */
  async holds(collection: string, documents: readonly object[]): Promise<void> {
    await vi.waitFor(async () => {
      const found = await this.all(collection);
      if (isDeepStrictEqual(found, documents)) return;
      throw new Error(`expected ${JSON.stringify(documents)}, found ${JSON.stringify(found)}`);
    }, PATIENCE);
  }

  async stats(): Promise<Exposition> {
    return readExposition(await (await fetch(`${this.server.url}/metrics`)).text());
  }
}
