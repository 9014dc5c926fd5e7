/**
 * Imports and exports: against a bulk load over HTTP, into an empty server, and while the command and
 * the server are killed.
 */
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { Random } from "../../compare/random.mjs";
import { BigPeerClient } from "../../packages/client/dist/index.js";
import { startServer } from "../availability/server-process.mjs";
import { Command } from "./command.mjs";
import { differenceOfDocuments, differenceOfFiles, differenceOfFolders } from "./compare.mjs";
import { writeFiles, writeKinds } from "./documents.mjs";

const LOADER = fileURLToPath(new URL("bulk-load-process.mjs", import.meta.url));

/** How long an import tries to reach a server that was killed. */
const PATIENCE = "300";

/** Part of the documents that have every type. */
const KINDS_PART = 0.01;
const KINDS_MIN = 60;

/**
 * Returns `{ documents, bulkRate, importRate, exportRate, memoryMb, kills, resumed, seconds, failures }`;
 * rates are documents in a second.
 */
export async function transfer(options, report = () => {}) {
  const run = new Transfers(options, report);
  try {
    return await run.play();
  } finally {
    await run.close();
  }
}

class Transfers {
  #options;
  #report;
  #random;
  #folder = mkdtempSync(join(tmpdir(), "bigpeer-import-"));
  #servers = [];
  #memoryMb = 0;
  #kills = 0;
  #resumed = 0;
  #failures = [];

  constructor(options, report) {
    this.#options = options;
    this.#report = report;
    this.#random = new Random(options.seed);
  }

  async play() {
    const begin = performance.now();
    const { documents, rounds } = this.#options;
    const sources = Array.from({ length: rounds }, (_, round) =>
      this.#path(`part-${round}.ndjson`),
    );
    await writeFiles(sources, documents, this.#random);
    const first = await this.#start("first");
    const rates = await this.#race(first, sources);
    const exportRate = await this.#copy(first, sources);
    await this.#stop(first);
    const [importMs, exportMs] = [rates.importRate, exportRate].map(
      (rate) => (documents / rate) * 1000,
    );
    await this.#survive(sources, { importMs, exportMs });
    return {
      documents,
      ...rates,
      exportRate,
      memoryMb: this.#memoryMb,
      kills: this.#kills,
      resumed: this.#resumed,
      seconds: (performance.now() - begin) / 1000,
      failures: this.#failures,
    };
  }

  async close() {
    for (const server of this.#servers) await server.process.kill();
    if (this.#failures.length === 0) rmSync(this.#folder, { recursive: true, force: true });
    else this.#report(`see ${this.#folder}`);
  }

  #path(name) {
    return join(this.#folder, name);
  }

  async #start(name) {
    const process = await startServer(this.#path(name));
    const { dataUrl: url, apiKey: key } = process;
    const server = { name, process, url, key };
    this.#servers.push(server);
    return server;
  }

  /** Its data are not needed any more. */
  async #stop(server) {
    await server.process.kill();
    this.#servers.splice(this.#servers.indexOf(server), 1);
    rmSync(this.#path(server.name), { recursive: true });
  }

  /** Both loads, each first in every other round, so that a slow minute of the machine hits both. */
  async #race(server, sources) {
    const seconds = { bulk: 0, import: 0 };
    const loads = {
      bulk: (file) => {
        const { url, key } = server;
        return new Command(
          [JSON.stringify({ url, key, file, collection: "loaded" })],
          server,
          LOADER,
        );
      },
      import: (file) => this.#command(["import", file, "--collection", "imported"], server),
    };
    for (const [round, file] of sources.entries()) {
      const order = round % 2 === 0 ? ["bulk", "import"] : ["import", "bulk"];
      for (const kind of order) {
        const command = await loads[kind](file).succeed();
        seconds[kind] += command.seconds;
        if (kind === "import") this.#memoryMb = Math.max(this.#memoryMb, command.memoryMb);
        this.#report(`round ${round + 1}: ${kind} took ${command.seconds.toFixed(1)} s`);
      }
    }
    const { documents } = this.#options;
    return { bulkRate: documents / seconds.bulk, importRate: documents / seconds.import };
  }

  #command(words, server) {
    return new Command([...words, "--quiet"], server);
  }

  /** An export, also a full one, makes an equal store of an empty one. */
  async #copy(first, sources) {
    const { documents } = this.#options;
    const client = new BigPeerClient({ url: first.url, key: first.key });
    const kinds = Math.max(KINDS_MIN, Math.floor(documents * KINDS_PART));
    await writeKinds(client, first, kinds, this.#random.fork());
    const exported = await this.#export(first, "imported", "first.ndjson");
    this.#note(await differenceOfDocuments(sources, this.#path("first.ndjson")));
    await this.#export(first, "kinds", "first-kinds.ndjson", ["--full", "--attachments"]);
    const second = await this.#start("second");
    await this.#import(second, "imported", "first.ndjson");
    const files = ["--attachments", this.#path("first-kinds.ndjson.files")];
    await this.#import(second, "kinds", "first-kinds.ndjson", files);
    await this.#export(second, "imported", "second.ndjson");
    await this.#export(second, "kinds", "second-kinds.ndjson", ["--full", "--attachments"]);
    this.#same("first.ndjson", "second.ndjson");
    this.#same("first-kinds.ndjson", "second-kinds.ndjson");
    const folders = ["first", "second"].map((name) => this.#path(`${name}-kinds.ndjson.files`));
    this.#note(differenceOfFolders(...folders));
    this.#report("the export is imported into an empty server, and exported again");
    await this.#stop(second);
    return documents / exported.seconds;
  }

  async #export(server, collection, name, words = []) {
    const path = this.#path(name);
    const all = words.map((word) => (word === "--attachments" ? [word, `${path}.files`] : [word]));
    return this.#command(["export", collection, "--output", path, ...all.flat()], server).succeed();
  }

  async #import(server, collection, name, words = []) {
    const path = this.#path(name);
    const command = this.#command(["import", path, "--collection", collection, ...words], server);
    await command.succeed();
    this.#memoryMb = Math.max(this.#memoryMb, command.memoryMb);
  }

  #same(one, other) {
    this.#note(differenceOfFiles(this.#path(one), this.#path(other)));
  }

  #note(difference) {
    if (difference !== undefined) this.#failures.push(difference);
  }

  /**
   * An import and an export that are killed again and again, and started again each time. An import
   * goes on where it was cut, an export begins again: the last kill comes before its end.
   */
  async #survive(sources, { importMs, exportMs }) {
    const { kills } = this.#options;
    const server = await this.#start("third");
    const words = ["import", this.#path("first.ndjson"), "--collection", "copied"];
    const importKills = Math.ceil((kills * 3) / 4);
    await this.#untilDone([...words, "--patience", PATIENCE], server, {
      kills: importKills,
      pauseMs: importMs / (1.25 * importKills),
    });
    const path = this.#path("third.ndjson");
    await this.#untilDone(["export", "copied", "--output", path], server, {
      kills: kills - importKills,
      pauseMs: exportMs / 3,
      check: () => {
        if (existsSync(path)) this.#note("an export that was killed has left a file");
      },
    });
    this.#same("first.ndjson", "third.ndjson");
    this.#note(await differenceOfDocuments(sources, path));
    this.#report(`${this.#kills} processes killed, ${this.#resumed} imports resumed`);
  }

  async #untilDone(words, server, { kills, pauseMs, check = () => {} }) {
    let left = kills;
    let command = new Command(words, server);
    for (;;) {
      const pause = left > 0 ? pauseMs * this.#random.between(0.2, 1.8) : undefined;
      const how = await this.#endOrPause(command, pause);
      if (how === undefined) {
        left--;
        this.#kills++;
        if (this.#random.chance(0.5)) {
          await command.kill();
          check();
        } else await this.#restart(server);
      }
      if (command.seconds === undefined) continue;
      if (command.errors.includes("goes on behind")) this.#resumed++;
      const isDone = (await command.ended) === 0;
      if (isDone) return;
      // An export has no connection to go on with; everything else must not fail.
      const isCut = how === undefined || (words[0] === "export" && how === 3);
      if (!isCut)
        throw new Error(`expected exit code 0 of ${command.what}, found ${how}: ${command.errors}`);
      command = new Command(words, server);
    }
  }

  /** The exit code, or undefined after the pause. */
  async #endOrPause(command, pauseMs) {
    if (pauseMs === undefined) return command.ended;
    const over = new AbortController();
    const paused = wait(pauseMs, undefined, { signal: over.signal }).catch(() => {});
    const how = await Promise.race([command.ended, paused]);
    over.abort();
    return how;
  }

  async #restart(server) {
    await server.process.kill();
    server.process = await startServer(this.#path(server.name), { port: server.process.port });
  }
}
