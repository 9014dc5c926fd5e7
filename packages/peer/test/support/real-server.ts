/**
 * A real server for the peers of a test, with the app and the key of its first start.
 */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { testHost } from "../../../node/test/support/store-host.ts";
import { temporaryFolder } from "../../../node/test/support/temporary-folder.ts";
import type { Config } from "../../../server/src/config/config.ts";
import type { QuickstartContent } from "../../../server/src/registry/quickstart.ts";
import { type RunningServer, startServer } from "../../../server/src/server.ts";
import { testConfig } from "../../../server/test/support/test-config.ts";
import { openPeer, type Peer, type PeerOptions } from "../../src/index.ts";

export interface RealServer {
  readonly running: RunningServer;
  readonly dataDir: string;
  readonly content: QuickstartContent;
  /** Opens a peer in memory with the key of the first start, unless something else is said. */
  readonly peer: (options?: Partial<PeerOptions>) => Promise<Peer>;
}

export async function startRealServer(change: Partial<Config> = {}): Promise<RealServer> {
  const dataDir = change.dataDir ?? temporaryFolder();
  const running = await startServer(testConfig({ ...change, dataDir }), testHost());
  onTestFinished(() => running.close());
  const text = readFileSync(join(dataDir, "quickstart.json"), "utf8");
  const content = JSON.parse(text) as QuickstartContent;
  const peer = async (options: Partial<PeerOptions> = {}): Promise<Peer> => {
    const { appId, apiKey } = content;
    const place = options.folder === undefined ? { memory: true as const } : {};
    const credential = options.login === undefined ? { token: apiKey } : {};
    const all = { appId, url: running.url, ...place, ...credential, ...options };
    const opened = await openPeer(all as PeerOptions);
    onTestFinished(() => opened.close());
    return opened;
  };
  return { running, dataDir, content, peer };
}
