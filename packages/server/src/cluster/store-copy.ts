/**
 * Store copy: brings a copy of a store from another node, for a node that has none, or that was
 * away for so long that the log has forgotten what it lacks.
 *
 * The data file is received in a folder of its own, compared with its digest, synced, and then
 * renamed to its place: a crash leaves the old file or the new one.
 */

import { createHash } from "node:crypto";
import { renameSync } from "node:fs";
import { open, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DATA_FILE, makeFolder, syncFolder } from "@bigpeer/node";
import { PeerError } from "@bigpeer/protocol";
import { describeError, type Log } from "../observability/log.ts";
import { newCopyFolder, removeCopy } from "./copies-folder.ts";
import { DIGEST_SIZE } from "./copy-endpoint.ts";
import type { NodeClient } from "./node-client.ts";
import type { OtherNode, OtherNodes } from "./other-nodes.ts";
import { positionsOf, type StorePosition } from "./store-positions.ts";

/** How long a node that gives a copy is looked for. */
const WAIT_MS_MAX = 15_000;
const PAUSE_MS = 250;

const FILE_MODE = 0o600;

export interface StoreCopierHost {
  readonly dataDir: string;
  readonly client: Pick<NodeClient, "stream">;
  readonly nodes: OtherNodes;
  /** The first entry that the log of a store has; 0 for an empty log. */
  readonly firstEntry: (store: string) => Promise<number>;
  readonly elapsed: () => number;
  readonly log: Log;
}

/** A node that may give a copy. */
export interface Giver extends StorePosition {
  readonly node: OtherNode;
}

export class StoreCopier {
  readonly #host: StoreCopierHost;
  /** Aborted when the node closes. */
  readonly #closing = new AbortController();

  constructor(host: StoreCopierHost) {
    this.#host = host;
  }

  /**
   * Puts a copy of the store into `folder`, in place of the data file there. The store must be
   * closed. Rejects with `store.busy` if no other node gives one in time.
   */
  async copy(store: string, folder: string): Promise<void> {
    const { elapsed } = this.#host;
    const endMs = elapsed() + WAIT_MS_MAX;
    do {
      for (const { node } of await this.#givers(store)) {
        this.#closing.signal.throwIfAborted();
        if (await this.#tryCopy(node, store, folder)) return;
      }
      this.#closing.signal.throwIfAborted();
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    } while (elapsed() < endMs);
    const message = `no other node of the cluster gives a copy of the store ${store} now; retry`;
    throw new PeerError("store.busy", message);
  }

  /** Ends copies under way. */
  close(): void {
    this.#closing.abort(new PeerError("store.closed", "the node closes"));
  }

  async #givers(store: string): Promise<Giver[]> {
    const { nodes, firstEntry } = this.#host;
    try {
      const first = await firstEntry(store);
      const answers = await nodes.askAll("positions", { stores: [store] });
      return orderGivers(
        answers.flatMap(({ node, answer }) => {
          const [position] = positionsOf(answer);
          return position === undefined ? [] : [{ node, ...position }];
        }),
        first,
      );
    } catch {
      // The log cannot be reached now.
      return [];
    }
  }

  async #tryCopy(node: OtherNode, store: string, folder: string): Promise<boolean> {
    const { log, nodes } = this.#host;
    try {
      await nodes.whileAlive(node, (alive) => {
        const signal = AbortSignal.any([alive, this.#closing.signal]);
        return this.#copyFrom(node, store, folder, signal);
      });
      log("info", `the store ${store} was copied from the node ${node.node}`);
      return true;
    } catch (error) {
      log("warn", `failed to copy ${store} from ${node.node}: ${describeError(error)}`);
      return false;
    }
  }

  async #copyFrom(
    { url }: OtherNode,
    store: string,
    folder: string,
    signal: AbortSignal,
  ): Promise<void> {
    const { dataDir, client } = this.#host;
    const partial = newCopyFolder(dataDir);
    try {
      const request = { method: "GET", path: `/copy/${store}`, signal };
      const { status, body } = await client.stream(url, request);
      if (status !== 200) {
        body.destroy();
        throw new Error(`expected the status 200, found ${status}`);
      }
      await writeChecked(join(partial, DATA_FILE), body);
      makeFolder(folder);
      renameSync(join(partial, DATA_FILE), join(folder, DATA_FILE));
      syncFolder(folder);
    } finally {
      await removeCopy(partial);
    }
  }
}

/**
 * The nodes that can give a copy that continues in a log whose first entry is `first`: the
 * evaluating node last, to spare it, and otherwise those that are furthest first.
 */
export function orderGivers(givers: readonly Giver[], first: number): Giver[] {
  return givers
    .filter(({ sequence }) => sequence > 0 && sequence >= first)
    .toSorted((a, b) => {
      return Number(a.isEvaluating) - Number(b.isEvaluating) || b.sequence - a.sequence;
    });
}

/** Writes what comes before the digest to a file, durably. Throws if the digest is another. */
export async function writeChecked(
  path: string,
  received: AsyncIterable<Uint8Array>,
): Promise<void> {
  const hash = createHash("sha256");
  let last: Uint8Array = new Uint8Array();
  async function* content(): AsyncGenerator<Uint8Array> {
    for await (const chunk of received) {
      const whole = Buffer.concat([last, chunk]);
      const size = Math.max(0, whole.length - DIGEST_SIZE);
      last = whole.subarray(size);
      if (size === 0) continue;
      hash.update(whole.subarray(0, size));
      yield whole.subarray(0, size);
    }
  }
  const file = await open(path, "wx", FILE_MODE);
  try {
    await writeFile(file, content());
    await file.sync();
  } finally {
    await file.close();
  }
  if (hash.digest().equals(last)) return;
  throw new Error("expected the digest of the copy at its end: it was cut off or changed");
}
