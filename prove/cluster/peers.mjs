/**
 * Small peers in a few processes, spread over the nodes of a cluster.
 */
import { fork } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync } from "node:fs";
import { fileURLToPath } from "node:url";

const PEER_PROCESS = fileURLToPath(new URL("peer-process.mjs", import.meta.url));
const PROCESSES = 4;
const PAUSE_MS = [2_000, 6_000];
const ANSWER_MS_MAX = 120_000;

/** Peers of one team. */
const TEAM_SIZE = 5;

export function teamsOf(peers) {
  return Math.ceil(peers / TEAM_SIZE);
}

export class Peers {
  #processes;

  constructor(processes) {
    this.#processes = processes;
  }

  /**
   * `urls` are used in turn; `record` takes an event for each write of a peer; `logFile` gets what
   * happens to their connections.
   */
  static async start({ count, urls, appId, apiKey, record, logFile }) {
    const all = Array.from({ length: count }, (_, i) => {
      // Peers of a team are at different nodes.
      const team = i % teamsOf(count);
      return { name: `peer-${i + 1}`, team, url: urls[(i + team) % urls.length] };
    });
    const log = openSync(logFile, "a");
    const size = Math.min(PROCESSES, count);
    const processes = Array.from({ length: size }, () =>
      fork(PEER_PROCESS, { stdio: ["ignore", log, log, "ipc"] }),
    );
    closeSync(log);
    const started = new Peers(processes);
    for (const each of processes) each.on("message", (message) => hear(message, record));
    const begun = processes.map((each, i) => {
      const peers = all.filter((_, number) => number % size === i);
      return ask(each, { kind: "begin", appId, token: apiKey, peers, pauseMs: PAUSE_MS }, "begun");
    });
    await Promise.all(begun);
    return started;
  }

  /** No peer writes any more. */
  async settle() {
    await Promise.all(this.#processes.map((each) => ask(each, { kind: "settle" }, "settled")));
  }

  async digests() {
    const answers = await Promise.all(
      this.#processes.map((each) => ask(each, { kind: "digest" }, "digest")),
    );
    return answers.flatMap(({ peers }) => peers);
  }

  async end() {
    const running = this.#processes.filter(({ exitCode, signalCode }) => {
      return exitCode === null && signalCode === null;
    });
    await Promise.all(
      running.map(async (each) => {
        const exited = once(each, "exit");
        each.kill("SIGKILL");
        await exited;
      }),
    );
  }
}

function hear(message, record) {
  if (message.kind !== "marks") return;
  for (const mark of message.marks) record({ type: "mark", ...mark });
}

/** Sends a message and resolves with the answer of this kind. */
async function ask(child, message, kind) {
  const signal = AbortSignal.timeout(ANSWER_MS_MAX);
  child.send(message);
  for (;;) {
    const [answer] = await once(child, "message", { signal });
    if (answer.kind === "fault") throw new Error(`a peer failed: ${answer.fault}`);
    if (answer.kind === kind) return answer;
  }
}
