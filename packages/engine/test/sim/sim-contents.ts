/**
 * The contents of attachments in a run: a server that takes and gives them beside the sync, over
 * connections that end at any piece, and peers that create, write and fetch them.
 *
 * Judged are: a document is uploaded after the contents that its peer created for it (S90), what is
 * fetched is what was created, and in the end the server has the content of every document.
 */

import { decodePeerMessage, type Value, type ValueObject } from "@bigpeer/protocol";
import type { Cancel } from "../../src/peer/contents/cancel.ts";
import { type ContentTransport, TransferError } from "../../src/peer/contents/content-transport.ts";
import { MemoryContents } from "../../src/peer/contents/memory-contents.ts";
import { PeerContents } from "../../src/peer/contents/peer-contents.ts";
import type { PeerStore } from "../../src/peer/peer-store.ts";
import { addTokens, documentTokens, type TokenContent } from "../../src/store/attachment-tokens.ts";
import { MemoryKeyValue } from "../../src/store/memory-key-value.ts";
import { View } from "../../src/store/view.ts";
import { ContentServer, testHash } from "../support/content-server.ts";
import type { Scheduler } from "./scheduler.ts";
import type { SimNetwork } from "./sim-network.ts";
import type { SimNode } from "./sim-node.ts";
import { NOTES } from "./sim-rules.ts";
import type { SimBackend } from "./sim-server.ts";

/** A content has so many bytes at most; a piece has four. */
const SIZE_MAX = 40;

/** Time of a request, and of a piece. */
const REQUEST_MS = 20;
const PIECE_MS = 30;

export interface ContentParts {
  readonly scheduler: Scheduler;
  readonly network: () => SimNetwork;
  readonly server: () => SimBackend;
  readonly isPeace: () => boolean;
  readonly count: (name: string) => void;
}

export class SimContents {
  readonly #parts: ContentParts;
  readonly #onServer = new ContentServer();
  /** All that was created in the run, by id. */
  readonly #created = new Map<string, Uint8Array>();
  /** What a peer and its copies have on their devices. */
  readonly #places = new Map<string, MemoryContents>();
  #restores = 0;

  constructor(parts: ContentParts) {
    this.#parts = parts;
  }

  /** For a process of a peer that begins. */
  open(node: SimNode, store: PeerStore): PeerContents {
    const { life } = node;
    return new PeerContents({
      store,
      place: this.#placeOf(node.name),
      transport: this.#transportOf(node),
      platform: node.platform(),
      wakeIn: (ms, work) => life.after(ms, work),
      bytesMax: Number.MAX_SAFE_INTEGER,
      onError: (error) => {
        // The disk of the peer may be full, or broken for a moment.
        const { code } = error as { readonly code?: unknown };
        if (!life.isAlive || code === "store.full" || code === "store.write_failed") return;
        this.#parts.scheduler.fail("no transfer fails for good", `${node.name}: ${String(error)}`);
      },
    });
  }

  /** Creates a content at a peer. Resolves with its token. */
  async create(node: SimNode, contents: PeerContents): Promise<ValueObject> {
    const { random } = node;
    const bytes = Uint8Array.from({ length: random.below(SIZE_MAX) }, () => random.below(256));
    const { id, len } = await contents.create(piecesOf(bytes));
    this.#created.set(id, bytes);
    this.#parts.count("content created");
    return { id, len, metadata: {} };
  }

  /** Fetches a content that a document of the peer refers to, if there is one. */
  fetch(node: SimNode, contents: PeerContents, store: PeerStore): void {
    const wanted = store.store.read((view) => [...tokensIn(view)]);
    if (wanted.length === 0) return;
    const token = node.random.pick(wanted);
    const { life } = node;
    const { arrived } = contents.fetch(token, () => {});
    const check = async (): Promise<void> => {
      await arrived;
      const found: number[] = [];
      for await (const piece of contents.read(token)) found.push(...piece);
      if (life.isAlive) this.#checkWhole(token.id, found);
    };
    check().catch((error: unknown) => node.note(`did not fetch: ${String(error)}`));
  }

  /** A peer sends a message to the server. */
  sent(peer: string, bytes: Uint8Array): void {
    const message = decodePeerMessage(bytes);
    if (message.t !== "upload") return;
    this.#noteRestore();
    const ids = new Set<string>();
    for (const { operations } of message.steps) {
      for (const operation of operations) addTokens(operation, ids);
    }
    for (const id of ids) {
      this.#parts.count("document with a content uploaded");
      if (this.#onServer.stored.has(id)) continue;
      this.#parts.scheduler.fail(
        "[S90] a content is uploaded before its document",
        `${peer}: ${id}`,
      );
    }
  }

  checkAtEnd(): void {
    this.#noteRestore();
    const { scheduler } = this.#parts;
    for (const { id } of tokensIn(this.#serverView())) {
      const stored = this.#onServer.stored.get(id);
      if (stored === undefined) scheduler.fail("the server has the content of a document", id);
      else this.#checkWhole(id, [...stored]);
    }
  }

  #checkWhole(id: string, found: readonly number[]): void {
    this.#parts.count("content fetched");
    if (String([...(this.#created.get(id) ?? [])]) === String(found)) return;
    this.#parts.scheduler.fail("what is fetched is what was created", id);
  }

  /** A server that came back from a copy has the contents of its documents, and perhaps others. */
  #noteRestore(): void {
    const { restores } = this.#parts.server();
    if (restores === this.#restores) return;
    this.#restores = restores;
    const kept = new Set([...tokensIn(this.#serverView())].map(({ id }) => id));
    for (const id of this.#onServer.stored.keys()) {
      if (kept.has(id) || this.#parts.scheduler.random.chance(0.5)) continue;
      this.#onServer.stored.delete(id);
      this.#parts.count("content lost by the server");
    }
  }

  #serverView(): View {
    return new View(new MemoryKeyValue(this.#parts.server().disk).snapshot());
  }

  /** Copies of a peer have what it had; nothing is removed in a run. */
  #placeOf(name: string): MemoryContents {
    const family = name.split("'")[0] ?? name;
    const place = this.#places.get(family) ?? new MemoryContents(testHash);
    this.#places.set(family, place);
    return place;
  }

  #transportOf(node: SimNode): ContentTransport {
    const { life } = node;
    const server = this.#onServer;
    const takes = (ms: number): Promise<void> => this.#reach(node, life.after.bind(life), ms);
    const slowly = async function* (pieces: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
      for await (const piece of pieces) {
        for (let at = 0; at < piece.length; at += 4) {
          await takes(PIECE_MS);
          yield piece.subarray(at, at + 4);
        }
      }
    };
    return {
      begin: async (content) => {
        await takes(REQUEST_MS);
        return server.begin(content);
      },
      send: async (content, offset, pieces, cancel) => {
        await takes(REQUEST_MS);
        return server.send(content, offset, slowly(pieces), cancel);
      },
      receive: async function* (content: TokenContent, offset: number, cancel: Cancel) {
        await takes(REQUEST_MS);
        yield* slowly(server.receive(content, offset, cancel));
      },
    };
  }

  /** Time passes; then the server is reached, or the connection is lost. */
  #reach(node: SimNode, after: (ms: number, work: () => void) => void, ms: number): Promise<void> {
    const { network, server, isPeace, count } = this.#parts;
    return new Promise((resolve, reject) => {
      after(ms * (0.5 + node.random.below(100) / 100), () => {
        this.#noteRestore();
        const isUp = server().machines.some((machine) => machine.isUp);
        const isThere = isUp && !network().isPartitioned(node.name);
        if (isThere && (isPeace() || !node.random.chance(0.1))) return resolve();
        count("transfer cut");
        reject(new TransferError("lost", "cut"));
      });
    });
  }
}

async function* piecesOf(bytes: Uint8Array): AsyncIterable<Uint8Array> {
  yield bytes;
}

function* tokensIn(view: View): Iterable<{ readonly id: string; readonly len: number }> {
  if (!view.collections().includes(NOTES)) return;
  for (const document of view.scan(NOTES)) yield* documentTokens(document);
}

/** A statement that writes a note with a content. */
export function insertWith(
  pic: ValueObject,
  id: Value,
  tag: string,
): {
  readonly statement: string;
  readonly args: ValueObject;
} {
  return {
    statement: `INSERT INTO COLLECTION ${NOTES} (pic ATTACHMENT) DOCUMENTS (:d) ON ID CONFLICT DO UPDATE`,
    args: { d: { _id: id, owner: "ann", team: "red", level: 3, tag, pic } },
  };
}
