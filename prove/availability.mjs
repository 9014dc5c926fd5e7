/**
 * Proof that no request stops the server. Each attack runs alone, from a process of its own,
 * against a new server with a store of 50,000 documents. During the attack, `/health/live` is
 * probed 200 times, another app keeps writing, syncing and uploading, and the memory of the server
 * is measured. At the end the server must read and write. It must also have every acknowledged
 * write, even after it was killed.
 *
 * The proof needs Linux: it reads memory and processor time from /proc, and honest clients use the
 * address 127.0.0.2.
 */
import { fork } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { ATTACKS } from "./availability/attacks.mjs";
import { answersIn, countLost, Neighbour, Prober } from "./availability/honest-clients.mjs";
import { watchSteal } from "./availability/machine.mjs";
import { chooseAttacks, parseOptions as parseWords } from "./availability/options.mjs";
import { prepareStore } from "./availability/prepared-store.mjs";
import { describeLongest } from "./availability/profile.mjs";
import {
  faultsOf,
  mustRunAgain,
  PROBE_MS_MAX,
  PROBES,
  tableHead,
  tableRow,
} from "./availability/report.mjs";
import { startServer } from "./availability/server-process.mjs";

export { USAGE } from "./availability/options.mjs";

const ATTACKER = fileURLToPath(new URL("availability/attacker.mjs", import.meta.url));
const LOOK_MS = 20;
const BEGIN_MS_MAX = 30_000;
const ANSWERS_MS_MAX = 5_000;

/** Number of missed probes after which an attack has succeeded and stops. */
const MISSES_MAX = 10;

/** Maximum number of runs of an attack while the machine is not quiet enough. */
const RUNS_MAX = 3;

async function messageOf(child, kind, msMax) {
  const signal = AbortSignal.timeout(msMax);
  for (;;) {
    const [message] = await once(child, "message", { signal });
    if (message.kind === "fault") throw new Error(message.fault);
    if (message.kind === kind) return message;
  }
}

/** Starts the attack. `end` stops it and resolves with the answers of the server. */
async function startAttack(attack, given) {
  const child = fork(ATTACKER, { stdio: ["ignore", "ignore", "inherit", "ipc"] });
  child.send({ kind: "attack", name: attack.name, ...given });
  let fault;
  child.on("message", (message) => {
    if (message.kind === "fault") fault = message.fault;
  });
  await messageOf(child, "begun", BEGIN_MS_MAX);
  return {
    async end() {
      const exit = once(child, "exit");
      const answers = messageOf(child, "answers", ANSWERS_MS_MAX).catch(() => undefined);
      if (child.connected) child.send({ kind: "end" });
      const reply = await answers;
      child.kill("SIGKILL");
      await exit;
      if (fault !== undefined) throw new Error(`the attack failed: ${fault}`);
      return reply?.answers ?? { "no tally": 1 };
    },
  };
}

/** Maximum memory of the server until `signal`. */
async function watchMemory(server, signal) {
  let most = 0;
  while (!signal.aborted) {
    most = Math.max(most, server.rssAnonMb);
    await setTimeout(LOOK_MS);
  }
  return most;
}

/** Runs an attack and all measurements on a running server. */
async function underAttack(attack, server, { facts, seconds }) {
  const neighbour = new Neighbour(server.port, facts.neighbour.key);
  await neighbour.warmUp();
  await answersIn(server.port, facts.keys.writer, "orders");
  const prober = new Prober(server.port);
  await prober.open();
  const over = new AbortController();
  const from = Date.now();
  const stolen = watchSteal();
  const memory = watchMemory(server, over.signal);
  const attacker = await startAttack(attack, { port: server.port, facts, seconds });
  const working = neighbour.workUntil(over.signal);
  const probes = await prober.probe({
    count: PROBES,
    pauseMs: (seconds * 1000) / PROBES,
    msMax: PROBE_MS_MAX,
    missesMax: MISSES_MAX,
  });
  const until = Date.now();
  const stolenPart = stolen();
  const answers = await attacker.end();
  over.abort();
  const done = await working;
  neighbour.close();
  const isAlive =
    server.isRunning &&
    (await answersIn(server.port, facts.keys.writer, "orders")) &&
    (await answersIn(server.port, facts.neighbour.key, "jobs"));
  const turns = server.longestTurn(from, until);
  const { acknowledged } = neighbour;
  return {
    probes,
    neighbour: done,
    maxRssMb: await memory,
    answers,
    isAlive,
    turns,
    stolenPart,
    acknowledged,
    startMs: from - server.startedAt,
  };
}

async function runAttack(attack, { work, prepared, facts, seconds, profile }) {
  const folder = join(work, attack.name);
  cpSync(prepared, folder, { recursive: true });
  const name = `${attack.name}.cpuprofile`;
  const profiling = profile === undefined ? undefined : { folder: profile, name };
  const server = await startServer(folder, { flags: attack.flags, profile: profiling });
  try {
    const { acknowledged, ...result } = await underAttack(attack, server, { facts, seconds });
    if (profiling !== undefined) await server.stop();
    await server.kill();
    const again = await startServer(folder);
    const lost = await countLost(again.port, facts.neighbour.key, acknowledged);
    await again.kill();
    return { name: attack.name, credential: attack.credential, ...result, lost };
  } finally {
    await server.kill();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function runAll(attacks, options, work) {
  const prepared = options.store ?? join(work, "prepared");
  const facts = await prepareStore(prepared, options.documents);
  if (options.profile !== undefined) mkdirSync(options.profile, { recursive: true });
  console.log(`${facts.documents} documents, ${options.seconds} s for each attack\n`);
  console.log(tableHead());
  const results = [];
  for (const attack of attacks) {
    const run = () =>
      runAttack(attack, { work, prepared, facts, ...options }).catch(({ message: error }) => ({
        name: attack.name,
        credential: attack.credential,
        error,
      }));
    let result = await run();
    for (let more = RUNS_MAX - 1; more > 0 && mustRunAgain(result); more--) {
      console.log(tableRow(result));
      result = await run();
    }
    results.push(result);
    console.log(tableRow(result));
    if (options.profile !== undefined) {
      const file = join(options.profile, `${attack.name}.cpuprofile`);
      console.log(describeLongest(file, result.startMs ?? 0));
    }
  }
  if (options.json !== undefined) writeFileSync(options.json, JSON.stringify(results));
  const broken = results.filter((result) => faultsOf(result).length > 0);
  console.log(`\n${results.length - broken.length} of ${results.length} attacks hold`);
  return broken.length === 0 ? 0 : 1;
}

/** Throws an error with a sentence if the arguments are invalid. */
export function parseOptions(args) {
  const options = parseWords(args);
  return { ...options, attacks: chooseAttacks(ATTACKS, options.only) };
}

/** Resolves with the exit code. */
export async function prove(options) {
  const { attacks, list } = options;
  if (list) {
    const lines = attacks.map(({ name, credential, what }) => `${name} (${credential}): ${what}`);
    console.log(lines.join("\n"));
    return 0;
  }
  const work = mkdtempSync(join(tmpdir(), "bigpeer-prove-"));
  const clean = () => rmSync(work, { recursive: true, force: true });
  // A server ends by itself without its parent.
  for (const signal of ["SIGINT", "SIGTERM"]) {
    process.once(signal, () => {
      clean();
      process.exit(1);
    });
  }
  try {
    return await runAll(attacks, options, work);
  } finally {
    clean();
  }
}
