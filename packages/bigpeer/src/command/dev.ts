/**
 * `bigpeer dev`: a server for development in the current folder, with sample documents. On a
 * terminal, keys open the documentation and a shell, begin again, and quit.
 */

import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { BigPeerClient } from "@bigpeer/client";
import type { Value } from "@bigpeer/protocol";
import { VERSION } from "@bigpeer/server/command";
import { loadDataset } from "../dataset/dataset-load.ts";
import { DATASETS } from "../dataset/datasets.ts";
import { openBrowser } from "../dev/browser.ts";
import { DevServer } from "../dev/dev-server.ts";
import { firstSteps } from "../dev/first-steps.ts";
import { Keys } from "../dev/keys.ts";
import type { Call, CommandDefinition } from "../program/definition.ts";
import { CommandFailure, describeFailure, EXIT, UsageError } from "../program/failure.ts";
import { isInteractive, type ProgramHost } from "../program/host.ts";
import { confirm } from "../terminal/confirm.ts";
import { tableText } from "../terminal/table.ts";
import { own, YES } from "./shared-options.ts";

const FOLDER = ".bigpeer";
const RESET_QUESTION = `Delete everything in ${FOLDER} and begin again?`;
const NO_DATASET = "none";
const ROWS_SHOWN = 3;
const PORT_MAX = 65_535;
const KEYS_HELP = "keys: o documentation, q query, r reset, x quit\n";

export const DEV: CommandDefinition = {
  name: "dev",
  meaning: "run a server for development in ./.bigpeer, with sample documents",
  group: "Run a server",
  examples: ["dev", "dev --port 9000", "dev --dataset retail", "dev --dataset none"],
  groups: [
    own(
      {
        name: "port",
        argument: "N",
        meaning: "port of the data API; default: 8080, or a free one if that is taken",
      },
      {
        name: "dataset",
        argument: "NAME",
        choices: [...DATASETS.map(({ name }) => name), NO_DATASET],
        meaning: "sample documents; default: tasks",
      },
      { name: "reset", meaning: "delete what is in ./.bigpeer and begin again, after a question" },
      YES,
      { name: "quiet", short: "q", meaning: "print nothing but data and errors" },
      { name: "no-color", meaning: "print without colours (NO_COLOR)" },
    ),
  ],
  run: dev,
};

async function dev(call: Call): Promise<number> {
  const session = new DevSession(call);
  try {
    await session.start();
    return await session.ended();
  } finally {
    await session.close();
  }
}

class DevSession {
  readonly #call: Call;
  readonly #folder: string;
  readonly #end: Promise<number>;
  #finish: (exitCode: number) => void = () => {};
  #fail: (error: unknown) => void = () => {};
  #server: DevServer | undefined;
  #keys: Keys | undefined;
  /** Whether the next key answers the question of a reset. */
  #isAsked = false;
  /** One key after the other. */
  #work: Promise<void> = Promise.resolve();

  constructor(call: Call) {
    this.#call = call;
    this.#folder = resolve(call.host.folder, FOLDER);
    this.#end = new Promise<number>((finish, fail) => {
      this.#finish = finish;
      this.#fail = fail;
    });
    // A failure while it starts is read later.
    this.#end.catch(() => {});
  }

  async start(): Promise<void> {
    const { options, host } = this.#call;
    const startMs = performance.now();
    const port = options.number("port", 0);
    if (port !== undefined && port > PORT_MAX)
      throw new UsageError(`--port: expected a port from 0 to ${PORT_MAX}, found ${port}`);
    const isThere = existsSync(this.#folder);
    // A server that has the folder is found before anything is deleted.
    this.#server = await DevServer.start({
      folder: this.#folder,
      port,
      env: host.env,
      log: (level, text) => {
        if (level === "warn" || level === "error") void host.errors.write(`${level}: ${text}\n`);
      },
      onFatal: (error) => this.#fail(error),
    });
    if (options.has("reset")) {
      if (isThere) await confirm(this.#call, RESET_QUESTION);
      await this.#server.reset();
    }
    await this.#welcome((performance.now() - startMs) / 1_000);
    if (!isInteractive(host)) return;
    await host.output.write(KEYS_HELP);
    this.#keys = new Keys(host.input, (letter) => this.#press(letter));
  }

  /** Returns the exit code when the user ends it. */
  ended(): Promise<number> {
    const { signal } = this.#call.host;
    if (signal.aborted) this.#finish(EXIT.done);
    signal.addEventListener("abort", () => this.#finish(EXIT.done), { once: true });
    return this.#end;
  }

  async close(): Promise<void> {
    this.#keys?.rest();
    await this.#work;
    await this.#server?.close();
  }

  get #running(): DevServer {
    if (this.#server === undefined) throw new CommandFailure("the server does not run");
    return this.#server;
  }

  async #welcome(seconds: number): Promise<void> {
    const { url, managementUrl, consoleUrl, quickstart } = this.#running;
    const { host, output } = this.#call;
    const { key = "", appId = "" } = quickstart;
    const folder = this.#folder;
    const addresses = { url, managementUrl, consoleUrl };
    const started = { ...addresses, key, appId, folder, version: VERSION, seconds };
    await host.output.write(firstSteps(started, output.style));
    await this.#showRows(new BigPeerClient({ url, key }));
  }

  /** Loads the sample documents that are not there yet, and shows some. */
  async #showRows(client: BigPeerClient): Promise<void> {
    const { options, host, output } = this.#call;
    const name = options.text("dataset") ?? DATASETS[0].name;
    const dataset = DATASETS.find((each) => each.name === name);
    if (dataset === undefined) return;
    const { size, collections } = dataset;
    await loadDataset(client, dataset, { seed: 1, size, signal: host.signal });
    const statement = `SELECT * FROM ${collections.at(-1)} ORDER BY _id LIMIT ${ROWS_SHOWN}`;
    const { items } = await client.execute<Value>(statement, {}, { signal: host.signal });
    const table = tableText(items, { style: output.style, columns: host.output.columns });
    await host.output.write(`${output.style("bold", statement)}\n${table}\n`);
  }

  #press(letter: string): void {
    if (letter === "x") {
      this.#finish(EXIT.done);
      return;
    }
    this.#work = this.#work
      .then(() => this.#act(letter))
      .catch((error: unknown) => {
        void this.#call.host.errors.write(`${describeFailure(error)}\n`);
      });
  }

  async #act(letter: string): Promise<void> {
    const { output } = this.#call.host;
    if (this.#isAsked) {
      this.#isAsked = false;
      await output.write(`${letter}\n`);
      if (letter === "y") await this.#reset();
      else await output.write("nothing was changed\n");
      return;
    }
    if (letter === "o") {
      const { url } = this.#running;
      await output.write(`${url}/docs/\n`);
      openBrowser(`${url}/docs/`);
    } else if (letter === "q") await this.#query();
    else if (letter === "r") {
      this.#isAsked = true;
      await output.write(`${RESET_QUESTION} [y/N] `);
    } else await output.write(KEYS_HELP);
  }

  async #reset(): Promise<void> {
    const startMs = performance.now();
    try {
      await this.#running.reset();
    } catch (error) {
      // Without a server there is nothing to go on with.
      this.#fail(error);
      return;
    }
    await this.#welcome((performance.now() - startMs) / 1_000);
    await this.#call.host.output.write(KEYS_HELP);
  }

  /** The shell, on this server. */
  async #query(): Promise<void> {
    const { host, runOther } = this.#call;
    const { url, quickstart } = this.#running;
    const { key = "" } = quickstart;
    const env = { ...host.env, BIGPEER_URL: url, BIGPEER_KEY: key };
    const shellHost: ProgramHost = { ...host, env };
    this.#keys?.rest();
    try {
      await runOther(["query"], shellHost);
    } finally {
      this.#keys?.listen();
    }
    await host.output.write(KEYS_HELP);
  }
}
