/**
 * A real server for the tests of `/sync`, with a clock that a test can move on.
 */

import type { Platform } from "@bigpeer/engine";
import { nodePlatform } from "@bigpeer/node";
import { onTestFinished } from "vitest";
import { testHost } from "../../../node/test/support/store-host.ts";
import type { Config } from "../../src/config/config.ts";
import type { LogFields } from "../../src/observability/log.ts";
import type { QuickstartContent } from "../../src/registry/quickstart.ts";
import { type RunningServer, startServer } from "../../src/server.ts";
import { type Exposition, readExposition } from "./exposition.ts";
import { testConfig } from "./test-config.ts";

export interface LoggedLine extends LogFields {
  readonly level: string;
  readonly message: string;
}

export interface ServedSync extends Pick<QuickstartContent, "apiKey" | "appId"> {
  readonly server: RunningServer;
  readonly url: string;
  /** All that was logged, down to the lowest level. */
  readonly log: readonly LoggedLine[];
  /** Moves both clocks of the server on. */
  readonly pass: (ms: number) => void;
  /** Runs a statement over HTTP; throws unless it succeeds. */
  readonly execute: (statement: string, args?: object) => Promise<void>;
  readonly stats: () => Promise<Exposition>;
}

export interface ServeOptions {
  /** Time passes only when the test says so. */
  readonly isClockStopped?: boolean;
}

/** Closed when the test ends, unless it was before. */
export async function serveSync(
  changes: Partial<Config> = {},
  { isClockStopped = false }: ServeOptions = {},
): Promise<ServedSync> {
  let passed = 0;
  const start = { now: nodePlatform.now(), elapsed: nodePlatform.elapsed() };
  const platform: Platform = {
    ...nodePlatform,
    now: () => (isClockStopped ? start.now : nodePlatform.now()) + passed,
    elapsed: () => (isClockStopped ? start.elapsed : nodePlatform.elapsed()) + passed,
  };
  const log: LoggedLine[] = [];
  const host = {
    ...testHost(),
    platform,
    log: (level: string, message: string, fields: LogFields = {}) =>
      void log.push({ level, message, ...fields }),
  };
  const server = await startServer(testConfig(changes), host);
  onTestFinished(() => server.close());
  const { url } = server;
  const { apiKey = "", appId = "" } = server.quickstart?.shown ?? {};
  return {
    server,
    url,
    apiKey,
    appId,
    log,
    pass: (ms) => {
      passed += ms;
    },
    execute: async (statement, args = {}) => {
      const response = await fetch(`${url}/api/v4/store/execute`, {
        method: "POST",
        headers: { authorization: `Bearer ${apiKey}`, "content-type": "application/json" },
        body: JSON.stringify({ statement, args }),
      });
      if (!response.ok) throw new Error(`${statement}: ${await response.text()}`);
    },
    stats: async () => readExposition(await (await fetch(`${url}/metrics`)).text()),
  };
}
