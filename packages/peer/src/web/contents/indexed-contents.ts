/**
 * IndexedContents: keeps the contents of attachments of a peer in IndexedDB, in pieces, so that no
 * content is in memory as a whole.
 *
 * The id of a content is known when all of it is there. So its pieces belong to a holder, a random
 * name, and the record of the content names the holder. All pieces of a holder but the last have the
 * same size. Only the record of a complete content is durable at once: of a download that a crash
 * shortens, the rest is downloaded again.
 */

import type {
  ContentHash,
  ContentPlace,
  CreatedContent,
  PartialContent,
  ReadyContent,
  RestingContent,
} from "@bigpeer/engine/peer";
import { PeerError } from "@bigpeer/protocol";
import type { IndexedDb, IndexedRange } from "../storage/indexed-db.ts";
import { CONTENT, ContentDatabase, PARTIAL, PIECE } from "./content-database.ts";

const PIECE_BYTES = 1024 * 1024;

/** Downloads whose hash is kept, so that a cut does not read them again. */
const HASHES_MAX = 16;

interface ContentEntry {
  readonly holder: string;
  readonly len: number;
}

/** A download, by its id; or a content that is being created, by its holder. */
interface PartialEntry {
  readonly holder: string;
  readonly size: number;
  readonly atMs: number;
}

export class IndexedContents implements ContentPlace {
  readonly #database: ContentDatabase;
  readonly #newHash: () => ContentHash;
  readonly #hashes = new Map<string, Holder>();
  /** Contents become complete, and are removed, one after the other. */
  #turn: Promise<unknown> = Promise.resolve();

  /** Removes contents that a crash interrupted. The database must not be open elsewhere. */
  static async open(
    db: IndexedDb,
    name: string,
    newHash: () => ContentHash,
  ): Promise<IndexedContents> {
    const contents = new IndexedContents(new ContentDatabase(db, name), newHash);
    for (const key of await contents.#partialKeys()) {
      const partial = await contents.#partialOf(key);
      if (partial?.holder === key) await contents.#removePartial(key, key);
    }
    return contents;
  }

  private constructor(database: ContentDatabase, newHash: () => ContentHash) {
    this.#database = database;
    this.#newHash = newHash;
  }

  async create(
    pieces: AsyncIterable<Uint8Array>,
    onReady: ReadyContent = (_, keep) => keep(),
  ): Promise<CreatedContent> {
    const name = crypto.randomUUID();
    const holder = this.#newHolder(name, name);
    let isKept = false;
    try {
      for await (const piece of pieces) await holder.append(piece);
      const created = { len: holder.size, ...holder.hash.digests() };
      await onReady(created, async () => {
        await this.#complete(created.id, name, holder);
        isKept = true;
      });
      return created;
    } catch (error) {
      // If this fails as well, the next opening removes it.
      if (!isKept) await this.#removePartial(name, name).catch(() => {});
      throw error;
    }
  }

  async has(id: string): Promise<boolean> {
    return (await this.#entryOf(id)) !== undefined;
  }

  async *read(id: string, len: number, offset: number): AsyncIterable<Uint8Array> {
    let entry = await this.#entryOf(id);
    if (entry?.len !== len) throw damaged(id, len, entry?.len ?? "none");
    for (let at = offset; at < len; ) {
      const piece = await this.#pieceOf(entry.holder, Math.floor(at / PIECE_BYTES));
      const bytes = piece?.subarray(at % PIECE_BYTES);
      if (bytes === undefined || bytes.length === 0) {
        // If it was created again meanwhile, another holder has its pieces.
        const next = await this.#entryOf(id);
        if (next?.len !== len || next.holder === entry.holder) throw damaged(id, len, at);
        entry = next;
        continue;
      }
      yield bytes;
      at += bytes.length;
    }
  }

  async resume(id: string): Promise<PartialContent> {
    const holder = await this.#resumed(id);
    return {
      get size(): number {
        return holder.size;
      },
      append: async (bytes) => {
        try {
          await holder.append(bytes);
        } catch (error) {
          // What is stored is read again.
          this.#hashes.delete(id);
          throw error;
        }
      },
      finish: async () => {
        this.#hashes.delete(id);
        const isRight = holder.hash.digests().id === id;
        if (isRight) await this.#complete(id, id, holder);
        else await this.#removePartial(id, holder.name);
        return isRight;
      },
      close: async () => {
        if (this.#hashes.get(id) === holder) await holder.flush();
      },
    };
  }

  remove(id: string): Promise<void> {
    return this.#inTurn(async () => {
      const entry = await this.#entryOf(id);
      if (entry === undefined) return;
      await this.#database.write("relaxed", (storeOf) => {
        storeOf(CONTENT).delete(id);
        storeOf(PIECE).delete(this.#range(entry.holder));
      });
    });
  }

  async *ids(): AsyncIterable<string> {
    yield* (await this.#database.read(CONTENT, (store) => store.getAllKeys())) as string[];
  }

  async partials(): Promise<readonly RestingContent[]> {
    const found: RestingContent[] = [];
    for (const id of await this.#partialKeys()) {
      const partial = await this.#partialOf(id);
      if (partial === undefined || partial.holder === id) continue;
      found.push({ id, size: partial.size, atMs: partial.atMs });
    }
    return found.sort((a, b) => a.atMs - b.atMs);
  }

  async discard(id: string): Promise<void> {
    const holder = this.#hashes.get(id)?.name ?? (await this.#partialOf(id))?.holder;
    this.#hashes.delete(id);
    if (holder !== undefined) await this.#removePartial(id, holder);
  }

  async close(): Promise<void> {
    await this.#turn.catch(() => {});
    await this.#database.close();
  }

  /** A download where it ended. Its hash is known, or its pieces are read once. */
  async #resumed(id: string): Promise<Holder> {
    const known = this.#hashes.get(id);
    if (known !== undefined) return known;
    const partial = await this.#partialOf(id);
    const holder = this.#newHolder(id, partial?.holder ?? crypto.randomUUID());
    for (let i = 0; holder.size < (partial?.size ?? 0); i++) {
      const piece = await this.#pieceOf(holder.name, i);
      if (piece === undefined) break;
      holder.take(piece);
    }
    const [oldest] = this.#hashes.keys();
    if (this.#hashes.size >= HASHES_MAX && oldest !== undefined) this.#hashes.delete(oldest);
    this.#hashes.set(id, holder);
    return holder;
  }

  #newHolder(key: string, name: string): Holder {
    return new Holder(name, this.#newHash(), async (index, piece, size) => {
      const partial: PartialEntry = { holder: name, size, atMs: Date.now() };
      await this.#database.write("relaxed", (storeOf) => {
        storeOf(PIECE).put(piece, pieceKey(name, index));
        storeOf(PARTIAL).put(partial, key);
      });
    });
  }

  /** From now on the content is there. Another holder with the same content goes. */
  async #complete(id: string, key: string, holder: Holder): Promise<void> {
    await holder.flush();
    const { name, size: len } = holder;
    await this.#inTurn(async () => {
      const before = await this.#entryOf(id);
      await this.#database.write("strict", (storeOf) => {
        storeOf(CONTENT).put({ holder: name, len } satisfies ContentEntry, id);
        storeOf(PARTIAL).delete(key);
        if (before !== undefined) storeOf(PIECE).delete(this.#range(before.holder));
      });
    });
  }

  async #removePartial(key: string, holder: string): Promise<void> {
    await this.#database.write("relaxed", (storeOf) => {
      storeOf(PARTIAL).delete(key);
      storeOf(PIECE).delete(this.#range(holder));
    });
  }

  async #entryOf(id: string): Promise<ContentEntry | undefined> {
    const entry = await this.#database.read(CONTENT, (store) => store.get(id));
    return entry as ContentEntry | undefined;
  }

  async #partialOf(key: string): Promise<PartialEntry | undefined> {
    const partial = await this.#database.read(PARTIAL, (store) => store.get(key));
    return partial as PartialEntry | undefined;
  }

  async #partialKeys(): Promise<string[]> {
    return (await this.#database.read(PARTIAL, (store) => store.getAllKeys())) as string[];
  }

  async #pieceOf(holder: string, index: number): Promise<Uint8Array | undefined> {
    const piece = await this.#database.read(PIECE, (store) => store.get(pieceKey(holder, index)));
    return piece as Uint8Array | undefined;
  }

  /** All pieces of a holder: "0" is the character after "/". */
  #range(holder: string): IndexedRange {
    return this.#database.keyRanges.bound(`${holder}/`, `${holder}0`, false, true);
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const next = this.#turn.then(work, work);
    this.#turn = next;
    return next;
  }
}

type WritePiece = (index: number, piece: Uint8Array, size: number) => Promise<void>;

/** Bytes of one content that become pieces. */
class Holder {
  readonly name: string;
  readonly hash: ContentHash;
  readonly #write: WritePiece;
  /** The last piece, which is not full. */
  #piece = new Uint8Array(PIECE_BYTES);
  #filled = 0;
  #index = 0;
  #isWritten = true;

  constructor(name: string, hash: ContentHash, write: WritePiece) {
    this.name = name;
    this.hash = hash;
    this.#write = write;
  }

  get size(): number {
    return this.#index * PIECE_BYTES + this.#filled;
  }

  /** Adds a piece that is stored. */
  take(piece: Uint8Array): void {
    this.hash.update(piece);
    if (piece.length === PIECE_BYTES) this.#index++;
    else {
      this.#piece.set(piece);
      this.#filled = piece.length;
    }
  }

  async append(bytes: Uint8Array): Promise<void> {
    this.hash.update(bytes);
    for (let from = 0; from < bytes.length; ) {
      const part = bytes.subarray(from, from + PIECE_BYTES - this.#filled);
      this.#piece.set(part, this.#filled);
      this.#filled += part.length;
      this.#isWritten = false;
      from += part.length;
      if (this.#filled < PIECE_BYTES) continue;
      await this.flush();
      this.#index++;
      this.#filled = 0;
    }
  }

  /** Stores what is not stored yet. */
  async flush(): Promise<void> {
    if (this.#isWritten) return;
    await this.#write(this.#index, this.#piece.slice(0, this.#filled), this.size);
    this.#isWritten = true;
  }
}

function pieceKey(holder: string, index: number): string {
  return `${holder}/${String(index).padStart(8, "0")}`;
}

function damaged(id: string, len: number, found: number | string): PeerError {
  const message = `expected ${len} bytes of the attachment ${id} in this browser, found ${found}`;
  return new PeerError("store.corrupt", message);
}
