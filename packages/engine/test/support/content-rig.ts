/**
 * The contents of a small peer beside a server of contents in memory, for tests.
 */

import type { Operation } from "@bigpeer/protocol";
import { MemoryContents } from "../../src/peer/contents/memory-contents.ts";
import { PeerContents } from "../../src/peer/contents/peer-contents.ts";
import { ContentServer, testHash } from "./content-server.ts";
import { type PeerPair, peerPair } from "./peer-pair.ts";

const BYTES_MAX = 1000;

export interface ContentRig {
  readonly pair: PeerPair;
  readonly server: ContentServer;
  readonly place: MemoryContents;
  readonly contents: PeerContents;
  readonly errors: unknown[];
  /** How long each wait for the next attempt was to take. */
  readonly waits: number[];
}

export async function contentRig({ bytesMax = BYTES_MAX } = {}): Promise<ContentRig> {
  return openContents(await peerPair(), new MemoryContents(testHash), bytesMax);
}

export function openContents(
  pair: PeerPair,
  place: MemoryContents,
  bytesMax = BYTES_MAX,
): ContentRig {
  const server = new ContentServer();
  const errors: unknown[] = [];
  const waits: number[] = [];
  let elapsed = 0;
  const contents = new PeerContents({
    store: pair.peer,
    place,
    transport: server,
    platform: { ...pair.platform, now: () => pair.platform.nowMs, elapsed: () => elapsed },
    // The clock of the test moves on by itself, so that what waits becomes due.
    wakeIn: (ms, wake) => {
      waits.push(ms);
      const timer = setTimeout(() => {
        elapsed += ms;
        wake();
      }, 1);
      return () => clearTimeout(timer);
    },
    bytesMax,
    onError: (error) => errors.push(error),
  });
  return { pair, server, place, contents, errors, waits };
}

export async function* pieces(...texts: string[]): AsyncIterable<Uint8Array> {
  for (const text of texts) yield new TextEncoder().encode(text);
}

export async function textOf(content: AsyncIterable<Uint8Array>): Promise<string> {
  let text = "";
  for await (const piece of content) text += new TextDecoder().decode(piece);
  return text;
}

export function referTo(
  id: string,
  token: { readonly id: string; readonly len: number },
): Operation {
  return {
    kind: "insert",
    collection: "c",
    id,
    fields: { photo: { ...token, metadata: {} } },
    types: { photo: "attachment" },
  };
}
