/**
 * Runs a command of `bigpeer` in this process, with streams of its own.
 */

import { Readable } from "node:stream";
import { onTestFinished } from "vitest";
import { temporaryFolder } from "../../../node/test/support/temporary-folder.ts";
import type { Config } from "../../../server/src/config/config.ts";
import { openDataApi } from "../../../server/test/support/data-api.ts";
import type { ProgramHost } from "../../src/program/host.ts";
import { runProgram } from "../../src/program/program.ts";

export const ADMIN_TOKEN = "a-token-of-the-administrator";

export interface Outcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunOptions {
  readonly env?: Record<string, string>;
  readonly input?: string | Readable;
  readonly folder?: string;
  /** Whether all three streams are a terminal. */
  readonly isTerminal?: boolean;
  readonly answers?: string[];
  readonly signal?: AbortSignal;
  /** Called with all of stdout, each time there is more. */
  readonly onOutput?: (stdout: string) => void;
}

export interface TestServer {
  readonly url: string;
  readonly managementUrl: string;
  readonly key: string;
  readonly appId: string;
  readonly dataDir: string;
  /** What a script has: the variables of the contract. */
  readonly env: Record<string, string>;
  run(words: readonly string[], options?: RunOptions): Promise<Outcome>;
}

/** A real server for all tests of a file. */
export async function startTestServer(changes: Partial<Config> = {}): Promise<TestServer> {
  const api = await openDataApi({ managementPort: 0, adminToken: ADMIN_TOKEN, ...changes });
  const { server, quickstart, config } = api;
  const env = {
    BIGPEER_URL: server.url,
    BIGPEER_KEY: quickstart.apiKey,
    BIGPEER_MANAGEMENT_URL: server.managementUrl ?? "",
    BIGPEER_ADMIN_TOKEN: ADMIN_TOKEN,
  };
  return {
    url: server.url,
    managementUrl: server.managementUrl ?? "",
    key: quickstart.apiKey,
    appId: quickstart.appId,
    dataDir: config.dataDir,
    env,
    run: (words, options = {}) => runBigpeer(words, { env, ...options }),
  };
}

export async function runBigpeer(
  words: readonly string[],
  options: RunOptions = {},
): Promise<Outcome> {
  const { env = {}, input = "", folder, isTerminal = false, answers = [], signal } = options;
  let stdout = "";
  let stderr = "";
  const home = folder ?? temporaryFolder();
  const stdin = typeof input === "string" ? Readable.from([Buffer.from(input)]) : input;
  const host: ProgramHost = {
    // Nothing of the person who runs the tests.
    env: { HOME: home, ...env },
    folder: home,
    input: Object.assign(stdin, { isTTY: isTerminal }),
    output: {
      isTerminal,
      columns: 120,
      write: (content) => {
        stdout += typeof content === "string" ? content : Buffer.from(content).toString("latin1");
        options.onOutput?.(stdout);
      },
    },
    errors: {
      isTerminal,
      columns: 120,
      write: (content) => {
        stderr += String(content);
      },
    },
    signal: signal ?? endWithTest(),
    ask: async (question) => {
      stderr += question;
      return answers.shift() ?? "";
    },
  };
  const code = await runProgram(words, host);
  return { code, stdout, stderr };
}

function endWithTest(): AbortSignal {
  const end = new AbortController();
  onTestFinished(() => end.abort());
  return end.signal;
}
