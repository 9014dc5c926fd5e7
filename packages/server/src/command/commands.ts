/**
 * Commands: runs the command line and returns its exit code.
 *
 *   0  done: the server was stopped, the copy created, or verify found nothing
 *   1  failed, or verify found problems
 *   2  the command line, the environment or the settings file is invalid
 *   4  another process has the data folder
 */

import { EventEmitter, once } from "node:events";
import { resolve } from "node:path";
import { nodePlatform } from "@bigpeer/node";
import { PeerError } from "@bigpeer/protocol";
import { type Config, type Environment, type LogFormat, readConfig } from "../config/config.ts";
import { checkServable } from "../config/servable.ts";
import { VERSION } from "../config/version.ts";
import { backup, type CopyReport, restore } from "../maintenance/backup.ts";
import { verifyDataFolder } from "../maintenance/verify-command.ts";
import { loadWithNats } from "../nats/optional-nats.ts";
import {
  type AdjustableLog,
  createAdjustableLog,
  describeError,
  type Log,
  type LogLevel,
  type LogOptions,
} from "../observability/log.ts";
import type { AppName } from "../registry/app.ts";
import { curlLines, type Quickstart } from "../registry/quickstart.ts";
import { type RunningServer, startServer } from "../server.ts";
import { type CommandLine, type CommandName, parseCommandLine, usage } from "./command-line.ts";
import { type SignalSource, StopSignals } from "./signals.ts";

/** Maximum number of apps in the banner. */
const APPS_SHOWN_MAX = 10;

/** Environment of a command. */
export interface CommandHost {
  readonly env: Environment;
  readonly print: (text: string) => void;
  readonly printError: (text: string) => void;
  /** Whether the output of `printError`, and of `print`, goes to a terminal. */
  readonly isTerminal: boolean;
  readonly isOutputTerminal: boolean;
  readonly signals: SignalSource;
}

type Command = Extract<CommandLine, { kind: "command" }>;

interface Call {
  readonly flags: ReadonlyMap<string, string>;
  readonly config: Config;
  readonly log: Log;
  readonly setLogLevel: AdjustableLog["setLevel"];
  readonly host: CommandHost;
}

/** Returns the exit code. */
export async function runCommand(words: readonly string[], host: CommandHost): Promise<number> {
  const { env, print, printError } = host;
  try {
    const line = parseCommandLine(words);
    if (line.kind === "help") print(usage());
    if (line.kind === "version") print(`${VERSION}\n`);
    if (line.kind !== "command") return 0;
    const warnings: string[] = [];
    const config = readConfig(line.flags, env, (sentence) => warnings.push(sentence));
    if (line.name === "start") checkServable(config);
    return await runChecked(line, { config, warnings }, host);
  } catch (error) {
    if (!(error instanceof PeerError)) throw error;
    // Without the usage text, which would push the error out of sight.
    printError(`bigpeer: ${error.message}\nbigpeer --help shows all commands and settings\n`);
    return 2;
  }
}

interface Checked {
  readonly config: Config;
  readonly warnings: readonly string[];
}

async function runChecked(
  line: Command,
  { config, warnings }: Checked,
  host: CommandHost,
): Promise<number> {
  const format = lineFormat(config.logFormat, host.isTerminal);
  const options = { level: config.logLevel, format, write: host.printError };
  const { log, setLevel: setLogLevel } = createAdjustableLog(options);
  for (const warning of warnings) log("warn", warning);
  try {
    return await RUNNERS[line.name]({ flags: line.flags, config, log, setLogLevel, host });
  } catch (error) {
    host.printError(`bigpeer: ${describeError(error)}\n`);
    return error instanceof PeerError && error.code === "store.in_use" ? 4 : 1;
  }
}

function lineFormat(format: LogFormat, isTerminal: boolean): LogOptions["format"] {
  if (format !== "auto") return format;
  return isTerminal ? "text" : "json";
}

/** Runners of the commands, with a checked configuration. */
const RUNNERS: { readonly [name in CommandName]: (call: Call) => Promise<number> } = {
  start: async (call) => {
    const { config, log, host } = call;
    // From here on, so that a signal during startup is not lost.
    const signals = new StopSignals(host.signals);
    watchLogLevel(call);
    const failures = new EventEmitter<{ failure: [unknown] }>();
    const failed = once(failures, "failure");
    const onFatal = (error: unknown): boolean => failures.emit("failure", error);
    const server = await startServer(config, { log, onFatal });
    // Without a certificate, SIGHUP ends the process, as expected when a terminal closes.
    const hasTls = config.tls !== undefined || config.replicationTls !== undefined;
    if (hasTls) host.signals.on("SIGHUP", () => server.reloadTls());
    host.print(banner(server, config.dataDir, host.isOutputTerminal));
    const stopped = drained(server, signals, config, log);
    const failure = await Promise.race([stopped, failed]);
    if (failure !== undefined) {
      log("error", `closing, because of this: ${describeError(failure[0])}`);
    }
    await server.close();
    log("info", "closed");
    return failure === undefined ? 0 : 1;
  },
  backup: async ({ flags, config, host }) => {
    const to = resolve(flags.get("--to") ?? "");
    host.print(copyLine(await backup(config.dataDir, to), to));
    return 0;
  },
  restore: async ({ flags, config, host }) => {
    const from = resolve(flags.get("--from") ?? "");
    host.print(copyLine(await restore(from, config.dataDir, nodePlatform), config.dataDir));
    return 0;
  },
  "cluster adopt": async ({ config, log, host }) => {
    // Loaded on use, as the cluster itself.
    const { adoptDataFolder } = await loadWithNats(() => import("../cluster/adopt-command.ts"));
    await adoptDataFolder(config, log, (line) => host.print(`${line}\n`));
    return 0;
  },
  verify: async ({ config, host }) => {
    const problems = await verifyDataFolder(config.dataDir, (line) => host.print(`${line}\n`));
    return problems === 0 ? 0 : 1;
  },
};

/** Resolves when the server is to be closed: after the first signal and the shutdown delay. */
async function drained(
  server: RunningServer,
  signals: StopSignals,
  { shutdownDelayMs }: Config,
  log: Log,
): Promise<void> {
  const signal = await signals.first;
  server.announceClose();
  if (shutdownDelayMs > 0) {
    log("info", `${signal}: serving for ${shutdownDelayMs / 1000} s more, while /readyz fails`);
    await signals.delay(shutdownDelayMs);
  }
  log("info", `${signal}: closing`);
}

/** SIGUSR2 switches between the level of the settings and `debug`. */
function watchLogLevel({ config, log, setLogLevel, host }: Call): void {
  const configured = config.logLevel;
  const other: LogLevel = configured === "debug" ? "info" : "debug";
  let isOther = false;
  host.signals.on("SIGUSR2", () => {
    isOther = !isOther;
    const level = isOther ? other : configured;
    // The line is written whatever the levels are.
    setLogLevel("debug");
    log("info", `SIGUSR2: the log level is ${level}`);
    setLogLevel(level);
  });
}

function banner(server: RunningServer, dataDir: string, isTerminal: boolean): string {
  const { managementUrl, replicationUrl } = server;
  return [
    `Big Peer ${VERSION} is ready\n`,
    `  url    ${server.url}\n`,
    ...(managementUrl === undefined ? [] : [`  manage ${managementUrl}\n`]),
    ...(replicationUrl === undefined ? [] : [`  links  ${replicationUrl}\n`]),
    `  data   ${dataDir}\n`,
    ...appLines(server.registry.apps.names()),
    ...quickstartLine(server.quickstart),
    ...consoleLine(server.consoleLink, isTerminal),
    `  stop   Ctrl-C, or kill ${process.pid}\n`,
    ...firstSteps(server.quickstart, isTerminal),
  ].join("");
}

function appLines(apps: readonly AppName[]): string[] {
  const shown = apps.slice(0, APPS_SHOWN_MAX).map(({ id, name }) => `  app    ${id} (${name})\n`);
  const left = apps.length - shown.length;
  return left === 0 ? shown : [...shown, `         and ${left} more\n`];
}

function quickstartLine(quickstart: Quickstart | undefined): string[] {
  return quickstart === undefined ? [] : [`  key    in ${quickstart.path}\n`];
}

/**
 * The link signs its owner in: only a terminal shows it. A log has the name of its file, or the ways
 * to sign in without it.
 */
function consoleLine(link: RunningServer["consoleLink"], isTerminal: boolean): string[] {
  if (link?.url === undefined) return [];
  if (isTerminal) return [`  console ${link.url}\n`];
  if (link.path !== undefined) return [`  console consoleUrl in ${link.path}\n`];
  const { origin } = new URL(link.url);
  return [`  console ${origin}/ with the admin token, or start on a terminal for a link\n`];
}

/** Shown once; afterwards only the file has the key. */
function firstSteps(quickstart: Quickstart | undefined, isTerminal: boolean): string[] {
  if (quickstart?.shown === undefined) return [];
  const { shown, path } = quickstart;
  const lines = curlLines(shown, path, isTerminal).map((line) => `\n${line}\n`);
  return ["\nWrite a document, then read it back:\n", ...lines];
}

function copyLine({ apps, sizeBytes }: CopyReport, to: string): string {
  const megabytes = (sizeBytes / 1_000_000).toFixed(1);
  return `copied to ${to}: registry, apps ${apps.length}, ${megabytes} MB\n`;
}
