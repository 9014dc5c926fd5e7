/**
 * A server that is killed with SIGKILL in the middle of management changes, again and again: each
 * change that was answered is there, each other one is there whole or not at all.
 */

import { join } from "node:path";
import { parseJson } from "@bigpeer/protocol";
import { expect, onTestFinished, test } from "vitest";
import { bundleScript } from "../support/script.ts";
import { type Served, serveFolder, verifyFolder } from "../support/served-folder.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const KILLS = 12;
const WORKERS = 6;
const BIG_PEER = "/namespace/default/bigPeer/big-peer";
/** Deleted apps lose their data while the others work. */
const WORDS = ["--management-port", "0", "--app-grace", "1"];

interface Reply {
  readonly status: number;
  readonly body: unknown;
}

/** Undefined when the server was killed before it answered. */
async function ask(
  { managementUrl = "" }: Served,
  method: string,
  path: string,
  body?: object,
): Promise<Reply | undefined> {
  try {
    const response = await fetch(managementUrl + BIG_PEER + path, {
      method,
      ...(body && {
        body: JSON.stringify(body),
        headers: { "content-type": "application/json" },
      }),
    });
    return { status: response.status, body: parseJson(await response.text()) };
  } catch {
    return undefined;
  }
}

/** One app that is made, changed and deleted in a circle, and what must be seen of it. */
class ManagedApp {
  readonly #name: string;
  #number = 0;
  /** `none`, `app`, or the number of the last change of its replication. */
  #answered = "none";
  #asked = "none";
  changes = 0;

  constructor(name: string) {
    this.#name = name;
  }

  /** Changes until the server is gone. */
  async work(served: Served, onAnswer: () => void): Promise<void> {
    for (;;) {
      const reply = await this.#change(served);
      if (reply === undefined) return;
      if (reply.status !== 200) throw new Error(JSON.stringify(reply.body));
      this.#answered = this.#asked;
      this.changes++;
      onAnswer();
    }
  }

  /** What is there is what was answered last, or what was asked for after it. */
  async check(served: Served): Promise<void> {
    const found = await this.#state(served);
    if (found !== this.#answered && found !== this.#asked) {
      throw new Error(`expected ${this.#answered} or ${this.#asked}, found ${found}`);
    }
    this.#answered = found;
    this.#asked = found;
  }

  #change(served: Served): Promise<Reply | undefined> {
    const app = `/app/${this.#name}`;
    const replication = `${app}/bigPeerReplication`;
    if (this.#answered === "none") {
      this.#asked = "app";
      return ask(served, "POST", "/app", { name: this.#name });
    }
    this.#number++;
    if (this.#answered !== "app" && this.#number % 8 === 0) {
      this.#asked = "none";
      return ask(served, "DELETE", app);
    }
    const number = String(this.#number);
    const content = {
      connections: [`host-${number}:1`],
      queriesByCollection: { cars: [`n == ${number}`] },
    };
    const wasThere = this.#answered !== "app";
    this.#asked = number;
    if (wasThere) return ask(served, "PATCH", `${replication}/${this.#name}`, content);
    return ask(served, "POST", replication, { name: this.#name, ...content });
  }

  async #state(served: Served): Promise<string> {
    const app = await ask(served, "GET", `/app/${this.#name}`);
    const path = `/app/${this.#name}/bigPeerReplication/${this.#name}`;
    const replication = await ask(served, "GET", path);
    if (app === undefined || replication === undefined) throw new Error("expected answers");
    if (replication.status === 404) return app.status === 404 ? "none" : "app";
    const { connections, queriesByCollection } = replication.body as {
      readonly connections: readonly string[];
      readonly queriesByCollection: { readonly cars: readonly string[] };
    };
    const number = /^host-(\d+):1$/.exec(connections[0] ?? "")?.[1] ?? "";
    const isWhole = app.status === 200 && queriesByCollection.cars[0] === `n == ${number}`;
    if (!isWhole) throw new Error(`half of a change: ${JSON.stringify(replication.body)}`);
    return number;
  }
}

test("[M9] after SIGKILL every management change that was answered is there, and no other is there by half", async () => {
  const script = await bundleScript("../../src/main");
  onTestFinished(() => script.remove());
  const dataDir = join(temporaryFolder(), "data");
  const apps = Array.from({ length: WORKERS }, (_, i) => new ManagedApp(`app-${i}`));
  let served = await serveFolder(script, dataDir, WORDS);
  for (let kill = 1; kill <= KILLS; kill++) {
    const killAfter = 1 + Math.floor(Math.random() * 150);
    let answers = 0;
    const onAnswer = (): void => {
      if (++answers === killAfter) served.process.kill("SIGKILL");
    };
    await Promise.all(apps.map((app) => app.work(served, onAnswer)));
    expect((await served.process.ended).signal).toBe("SIGKILL");
    served = await serveFolder(script, dataDir, WORDS);
    for (const app of apps) await app.check(served);
  }
  expect(apps.reduce((sum, { changes }) => sum + changes, 0)).toBeGreaterThan(KILLS);
  served.process.kill("SIGTERM");
  expect((await served.process.ended).code).toBe(0);
  const { code, stdout } = await verifyFolder(script, dataDir);
  expect({ code, stdout }).toEqual({
    code: 0,
    stdout: expect.stringMatching(/^no problems found$/m),
  });
}, 600_000);
