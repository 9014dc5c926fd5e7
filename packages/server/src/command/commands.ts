/**
 * Commands: runs the command line and returns its exit code.
 *
 *   0  done: the server was stopped, the copy created, or verify found nothing
 *   1  failed, or verify found problems
 *   2  the command line, the environment or the settings file is invalid
 */

import { EventEmitter, once } from "node:events";
import { resolve } from "node:path";
import { nodePlatform } from "@bigpeer/node";
import { PeerError } from "@bigpeer/protocol";
import {
  type Config,
  checkServable,
  type Environment,
  type LogFormat,
  readConfig,
} from "../config/config.ts";
import { VERSION } from "../config/version.ts";
import { backup, type CopyReport, restore } from "../maintenance/backup.ts";
import { verifyDataFolder } from "../maintenance/verify-command.ts";
import { createLog, describeError, type Log, type LogOptions } from "../observability/log.ts";
import type { AppName } from "../registry/app.ts";
import { curlLines, type Quickstart } from "../registry/quickstart.ts";
import { type RunningServer, startServer } from "../server.ts";
import { clusterStatusText } from "./cluster-status-command.ts";
import { type CommandLine, type CommandName, parseCommandLine, usage } from "./command-line.ts";
import { type SignalSource, waitForStop } from "./signals.ts";

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
    if (line.name === "serve") checkServable(config);
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
  const log = createLog({ level: config.logLevel, format, write: host.printError });
  for (const warning of warnings) log("warn", warning);
  try {
    return await RUNNERS[line.name]({ flags: line.flags, config, log, host });
  } catch (error) {
    host.printError(`bigpeer: ${describeError(error)}\n`);
    return 1;
  }
}

function lineFormat(format: LogFormat, isTerminal: boolean): LogOptions["format"] {
  if (format !== "auto") return format;
  return isTerminal ? "text" : "json";
}

/** Runners of the commands, with a checked configuration. */
const RUNNERS: { readonly [name in CommandName]: (call: Call) => Promise<number> } = {
  serve: async ({ config, log, host }) => {
    // From here on, so that a signal during startup is not lost.
    const stop = waitForStop(host.signals);
    const failures = new EventEmitter<{ failure: [unknown] }>();
    const failed = once(failures, "failure");
    const onFatal = (error: unknown): boolean => failures.emit("failure", error);
    const server = await startServer(config, { log, onFatal });
    // Without a certificate, SIGHUP ends the process, as expected when a terminal closes.
    const hasTls = config.tls !== undefined || config.replicationTls !== undefined;
    if (hasTls) host.signals.on("SIGHUP", () => server.reloadTls());
    host.print(banner(server, config.dataDir, host.isOutputTerminal));
    const ended = await Promise.race([stop, failed]);
    const isFailed = typeof ended !== "string";
    if (isFailed) log("error", `closing, because of this: ${describeError(ended[0])}`);
    else log("info", `${ended}: closing`);
    await server.close();
    log("info", "closed");
    return isFailed ? 1 : 0;
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
  "cluster status": async ({ flags, config, host }) => {
    const { env } = host;
    const request = { config, url: flags.get("--url"), env, isJson: flags.has("--json") };
    host.print(await clusterStatusText(request));
    return 0;
  },
  "cluster adopt": async ({ config, log, host }) => {
    // Loaded on use, as the cluster itself.
    const { adoptDataFolder } = await import("../cluster/adopt-command.ts");
    await adoptDataFolder(config, log, (line) => host.print(`${line}\n`));
    return 0;
  },
  verify: async ({ config, host }) => {
    const problems = await verifyDataFolder(config.dataDir, (line) => host.print(`${line}\n`));
    return problems === 0 ? 0 : 1;
  },
};

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
