/**
 * Attachment folder: stores the attachments of an app as files, with records in the store of the
 * app. It defines the order in which the two change:
 *
 *   upload   partial file → synced → renamed → folder synced → record durable → answer
 *   resumed  the same with a second name of the file, which stays until the record is durable
 *   fetched  as an upload, from a file that may have arrived over several connections
 *   delete   record gone, durable → file gone
 *
 * So every record has its file, even after a power failure. A file without a record is removed by
 * the collector.
 *
 * In a cluster every record has its file on two nodes before it is logged, and other nodes fetch it:
 *
 *   upload   file here → file on another node → record where the app is evaluated → answer
 *   delete   record gone → file gone on each node, when it was not stored again for a while
 */

import { createHash, type Hash, randomBytes } from "node:crypto";
import { setMaxListeners } from "node:events";
import { rmSync } from "node:fs";
import { open, rm, stat, utimes, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Store } from "@bigpeer/engine/store";
import { attachmentOf, orphanedAttachments, storedAttachments } from "@bigpeer/engine/store";
import { isFullError, makeFolder } from "@bigpeer/node";
import { PeerError } from "@bigpeer/protocol";
import {
  type ContentTraffic,
  type ContentWay,
  NO_TRAFFIC,
} from "../observability/content-metrics.ts";
import { until } from "./abortable-source.ts";
import {
  type Attachment,
  attachmentPath,
  CONTENT_MODE,
  fileIds,
  incomingFolder,
  partialFolder,
  syncPath,
  uploadsFolder,
} from "./attachment-files.ts";
import { contentFailure } from "./content-failure.ts";
import { ContentSpace } from "./content-space.ts";
import {
  IncomingContents,
  type IncomingOutcome,
  type IncomingPiece,
  type KeepContent,
} from "./incoming-contents.ts";
import { KeyedMutex } from "./keyed-mutex.ts";
import { PartialUploads } from "./partial-uploads.ts";
import { digestsOf, PossessionProofs } from "./possession-proofs.ts";

/** The other nodes of a cluster, as the attachments of one app use them. */
export interface AttachmentNodes {
  /** Has another node store a content whose file is here. Rejects with `store.busy`. */
  readonly push: (content: Attachment, path: string) => Promise<void>;
  /** Logs the record where the app is evaluated. When it resolves, the store here has it. */
  readonly attach: (content: Attachment, by: string) => Promise<void>;
  /** Passes a content of a node that has it to `take`; false if no node that is alive has it. */
  readonly fetch: (
    content: Attachment,
    take: (bytes: AsyncIterable<Uint8Array>) => Promise<void>,
  ) => Promise<boolean>;
}

export interface AttachmentFolderOptions {
  readonly folder: string;
  /** Store that holds the records. */
  readonly store: Store;
  /** Maximum bytes of one content. */
  readonly sizeMax: number;
  /** Maximum bytes of all contents, partial ones included; 0, the default, for no bound. */
  readonly spaceMax?: number;
  /** Left out, all contents are here. */
  readonly nodes?: AttachmentNodes | undefined;
  readonly traffic?: ContentTraffic | undefined;
}

/** Records that are looked at together. */
const PAGE = 256;

export class AttachmentFolder {
  readonly #folder: string;
  readonly #store: Store;
  readonly #sizeMax: number;
  readonly #slicer = new KeyedMutex();
  readonly #incoming: IncomingContents;
  readonly #proofs = new PossessionProofs();
  readonly #traffic: ContentTraffic;
  /** Bytes on disk of all contents. */
  readonly space: ContentSpace;
  /** Uploads that can be continued by offset. */
  readonly partial: PartialUploads;
  readonly #uploads = new Set<Promise<unknown>>();
  readonly #nodes: AttachmentNodes | undefined;
  /** Contents that are being fetched from other nodes. */
  readonly #fetches = new Map<string, Promise<boolean>>();
  /** Aborted when the folder is closed. */
  readonly #closing = new AbortController();

  /** Removes uploads that a crash interrupted. The folder must not be open elsewhere. */
  constructor({ folder, store, sizeMax, nodes, ...options }: AttachmentFolderOptions) {
    const { spaceMax = 0, traffic = NO_TRAFFIC } = options;
    this.#folder = folder;
    this.#store = store;
    this.#sizeMax = sizeMax;
    this.#nodes = nodes;
    this.#traffic = traffic;
    this.space = new ContentSpace(folder, spaceMax);
    this.#incoming = new IncomingContents(incomingFolder(folder), sizeMax, this.space);
    this.partial = new PartialUploads({
      folder: uploadsFolder(folder),
      space: this.space,
      keep: (path, content, by) => this.#keepLinked(path, content, by),
      onKept: (digests) => this.#proofs.note(digests),
    });
    // Each upload adds a listener, and uploads are bounded.
    setMaxListeners(0, this.#closing.signal);
    rmSync(partialFolder(folder), { recursive: true, force: true });
  }

  /** Whether other nodes have contents too. */
  get isShared(): boolean {
    return this.#nodes !== undefined;
  }

  /** Path of the file of a content, whether it exists or not. */
  path(id: string): string {
    return attachmentPath(this.#folder, id);
  }

  /**
   * Stores a content that the credential `by` uploaded; durable when it resolves. If `content`
   * fails or is too large, or the folder closes before it is complete, nothing of it remains.
   */
  add(content: AsyncIterable<Uint8Array>, by: string): Promise<Attachment> {
    return this.#tracked(this.#add(content, by));
  }

  /**
   * Records the credential `by` as an uploader of a content that is stored, as if it had uploaded
   * it. False, and nothing is recorded, when the content is not here as a whole.
   */
  adopt(content: Attachment, by: string): Promise<boolean> {
    return this.#tracked(
      this.#nodes === undefined
        ? this.#adoptAlone(content, by)
        : this.#adoptShared(content, by, this.#nodes),
    );
  }

  /** Whether `proof` shows that a caller has a content that is stored. */
  async isProof(proof: string, content: Attachment): Promise<boolean> {
    if (!(await this.ensure(content)) || !(await this.#hasFile(content))) return false;
    return this.#proofs.isProof(proof, content.id, this.path(content.id));
  }

  has(id: string): boolean {
    return this.#withoutRecord([id]).length === 0;
  }

  /** Bytes received so far of a content that `receive` takes. */
  receivedSize(id: string): number {
    return this.#incoming.sizeOf(id);
  }

  /**
   * Takes the next piece of a content from another Big Peer. `kept`: the content is durable.
   * `refused`: it does not match its id, and nothing of it remains. Throws PeerError `store.full`.
   */
  receive(id: string, piece: IncomingPiece, by: string): Promise<IncomingOutcome> {
    this.#closing.signal.throwIfAborted();
    const keep = (path: string, len: number): Promise<void> => this.#keep(path, { id, len }, by);
    this.#traffic.moved("in", "link", piece.bytes.length);
    return this.#tracked(this.#receive(id, piece, keep));
  }

  /** Reads a part of a content from `offset` on; undefined when the content is not stored here. */
  async read(id: string, offset: number, sizeMax: number): Promise<IncomingPiece | undefined> {
    const size = this.#store.read((view) => attachmentOf(view, id))?.len;
    if (size === undefined || offset > size) return undefined;
    const bytes = new Uint8Array(Math.min(sizeMax, size - offset));
    if (bytes.length === 0) return { offset, bytes, size };
    if (!(await this.ensure({ id, len: size }))) return undefined;
    const file = await open(this.path(id), "r");
    try {
      const { bytesRead } = await file.read(bytes, 0, bytes.length, offset);
      if (bytesRead === bytes.length) {
        this.#traffic.moved("out", "link", bytesRead);
        return { offset, bytes, size };
      }
    } finally {
      await file.close();
    }
    const message = `expected ${size} bytes of the attachment ${id} at ${this.path(id)}`;
    throw new PeerError("store.corrupt", message);
  }

  /**
   * Deletes up to `limit` contents that no document has referred to since `upToTime`, with their
   * records. Returns how many.
   */
  async removeOrphans(upToTime: number, limit: number): Promise<number> {
    const found = this.#store
      .read((view) => orphanedAttachments(view, upToTime, limit))
      .map(({ id }) => id);
    if (found.length === 0) return 0;
    await this.space.whenCounted();
    return this.#slicer.run(found, async () => {
      const { result } = await this.#store.transact((transaction) => {
        // A content that was uploaded again meanwhile is kept.
        const due = new Set(
          orphanedAttachments(transaction.view, upToTime, limit).map(({ id }) => id),
        );
        const ids = found.filter((id) => due.has(id));
        transaction.apply(ids.map((id) => ({ kind: "detach", id })));
        return ids.length;
      });
      // In a cluster it may have been sent here again, for a record that comes: it is removed later.
      if (this.#nodes !== undefined) return result;
      for (const id of this.#withoutRecord(found)) await this.space.remove(this.path(id));
      return result;
    });
  }

  /** Deletes files without a record that are older than `beforeMs`. Yields the id of each. */
  async *removeStrays(beforeMs: number): AsyncGenerator<string | undefined> {
    await this.#incoming.removeOld(beforeMs);
    await this.partial.removeOld(beforeMs);
    for (const ids of fileIds(this.#folder)) {
      for (const id of this.#withoutRecord(ids)) {
        if (await this.#slicer.run([id], () => this.#removeStray(id, beforeMs))) yield id;
      }
      yield undefined;
    }
  }

  /** Whether the file of a content is here. It then stays for another grace period. */
  holds(content: Attachment): Promise<boolean> {
    return this.#slicer.run([content.id], async () => {
      if (!(await this.#hasFile(content))) return false;
      const now = new Date();
      await utimes(this.path(content.id), now, now);
      return true;
    });
  }

  /**
   * Stores a content that another node of the cluster sends; durable when it resolves. The log
   * brings its record. Rejects with `attachment.invalid` if it does not match its id.
   */
  takeCopy(content: Attachment, bytes: AsyncIterable<Uint8Array>): Promise<void> {
    const take = (partial: string, written: Attachment): Promise<void> => {
      if (written.id !== content.id || written.len !== content.len) throw notContent(content.id);
      return this.#place(partial, written.id);
    };
    return this.#tracked(this.#arrive(bytes, "cluster", take)).then(() => {});
  }

  /**
   * Fetches the file of a content that has a record, if it is not here. False if no other node that
   * is alive has it.
   */
  async ensure(content: Attachment): Promise<boolean> {
    const nodes = this.#nodes;
    if (nodes === undefined || (await this.#hasFile(content))) return true;
    const { id } = content;
    const under = this.#fetches.get(id);
    if (under !== undefined) return under;
    const fetching = nodes
      .fetch(content, (bytes) => this.takeCopy(content, bytes))
      .finally(() => this.#fetches.delete(id));
    this.#fetches.set(id, fetching);
    return fetching;
  }

  /** Fetches all files that are not here. Returns how many no other node has. */
  async complete(isStopped: () => boolean): Promise<number> {
    let missing = 0;
    let after: string | undefined;
    while (this.#nodes !== undefined && !isStopped()) {
      const page = this.#recordsAfter(after);
      for (const content of page) {
        if (isStopped()) break;
        if (!(await this.ensure(content)) && this.has(content.id)) missing++;
      }
      after = page.at(-1)?.id;
      if (after === undefined) break;
    }
    return missing;
  }

  /** Aborts uploads whose content is incomplete, and waits for the others. */
  async close(): Promise<void> {
    const reason = new PeerError("store.closed", "expected an open folder of attachments");
    this.#closing.abort(reason);
    await Promise.allSettled([...this.#uploads, this.partial.close(reason)]);
  }

  async #tracked<T>(upload: Promise<T>): Promise<T> {
    this.#uploads.add(upload);
    try {
      return await upload;
    } finally {
      this.#uploads.delete(upload);
    }
  }

  #add(content: AsyncIterable<Uint8Array>, by: string): Promise<Attachment> {
    return this.#arrive(content, "form", (partial, written) => this.#keep(partial, written, by));
  }

  async #receive(id: string, piece: IncomingPiece, keep: KeepContent): Promise<IncomingOutcome> {
    try {
      const outcome = await this.#incoming.take(id, piece, keep);
      if (outcome === "refused") this.#traffic.failed("in", "link", "digest");
      return outcome;
    } catch (error) {
      this.#traffic.failed("in", "link", contentFailure(error));
      throw error;
    }
  }

  /** Writes a content to a partial file, which `keep` moves to its place. */
  async #arrive(
    content: AsyncIterable<Uint8Array>,
    way: ContentWay,
    keep: (partial: string, written: Attachment) => Promise<void>,
  ): Promise<Attachment> {
    this.#closing.signal.throwIfAborted();
    const partial = this.#newPartial();
    try {
      makeFolder(dirname(partial));
      await this.space.whenCounted();
      const written = await this.#write(content, way, partial);
      await keep(partial, written);
      return written;
    } catch (error) {
      await this.space.remove(partial);
      this.#traffic.failed("in", way, contentFailure(error));
      if (!isFullError(error)) throw error;
      const message = `disk full: the attachment was not stored in ${this.#folder}; free space and retry`;
      throw new PeerError("store.full", message, { cause: error });
    }
  }

  /** Path of a partial file that does not exist yet. */
  #newPartial(): string {
    return join(partialFolder(this.#folder), randomBytes(12).toString("hex"));
  }

  async #write(
    content: AsyncIterable<Uint8Array>,
    way: ContentWay,
    partial: string,
  ): Promise<Attachment> {
    const hash = createHash("sha256");
    const written = { len: 0 };
    try {
      const file = await open(partial, "wx", CONTENT_MODE);
      try {
        await writeFile(file, this.#measured(content, way, written, hash));
        await file.sync();
      } finally {
        await file.close();
      }
    } catch (error) {
      // Not all of what was counted may be in the file.
      await rm(partial, { force: true });
      this.space.give(written.len);
      throw error;
    }
    const digests = digestsOf(hash);
    this.#proofs.note(digests);
    return { id: digests.id, len: written.len };
  }

  /** Copies of other nodes are of contents that are recorded: they are not bounded. */
  async *#measured(
    content: AsyncIterable<Uint8Array>,
    way: ContentWay,
    written: { len: number },
    hash: Hash,
  ): AsyncGenerator<Uint8Array> {
    for await (const chunk of until(this.#closing.signal, content)) {
      if (written.len + chunk.length > this.#sizeMax) throw tooLarge(this.#sizeMax);
      if (way !== "cluster") this.space.check(chunk.length);
      this.space.add(chunk.length);
      written.len += chunk.length;
      this.#traffic.moved("in", way, chunk.length);
      hash.update(chunk);
      yield chunk;
    }
  }

  /**
   * Keeps a content under a second name of its file, which a failure or a crash leaves as it is. A
   * file system without hard links moves it.
   */
  async #keepLinked(path: string, content: Attachment, by: string): Promise<void> {
    const second = this.#newPartial();
    makeFolder(dirname(second));
    if (!(await this.space.link(path, second))) return this.#keep(path, content, by);
    try {
      await this.#keep(second, content, by);
    } finally {
      await this.space.remove(second);
    }
  }

  #keep(partial: string, content: Attachment, by: string): Promise<void> {
    if (this.#nodes !== undefined) return this.#keepShared(partial, content, by, this.#nodes);
    return this.#slicer.run([content.id], () => this.#keepAlone(partial, content, by));
  }

  #adoptAlone({ id, len }: Attachment, by: string): Promise<boolean> {
    return this.#slicer.run([id], async () => {
      if (!this.has(id) || !(await this.#hasFile({ id, len }))) return false;
      await this.#store.transact((transaction) => {
        transaction.apply([{ kind: "attach", id, len, by }]);
      });
      return true;
    });
  }

  /** Its record may be removed meanwhile; the files are then kept for the one that is logged. */
  async #adoptShared(content: Attachment, by: string, nodes: AttachmentNodes): Promise<boolean> {
    if (!(await this.ensure(content)) || !(await this.holds(content))) return false;
    await nodes.push(content, this.path(content.id));
    await nodes.attach(content, by);
    return true;
  }

  async #keepAlone(partial: string, { id, len }: Attachment, by: string): Promise<void> {
    await this.#move(partial, id);
    try {
      await this.#store.transact((transaction) => {
        transaction.apply([{ kind: "attach", id, len, by }]);
      });
    } catch (error) {
      await this.#discard(id);
      throw error;
    }
  }

  /**
   * If it fails, the record may be logged all the same: so the file stays, and the collector removes
   * it later. Other nodes are called without the mutex: they may be sending the same content here.
   */
  async #keepShared(
    partial: string,
    content: Attachment,
    by: string,
    nodes: AttachmentNodes,
  ): Promise<void> {
    await this.#place(partial, content.id);
    await nodes.push(content, this.path(content.id));
    await nodes.attach(content, by);
  }

  #place(partial: string, id: string): Promise<void> {
    return this.#slicer.run([id], () => this.#move(partial, id));
  }

  async #move(partial: string, id: string): Promise<void> {
    const path = this.path(id);
    makeFolder(dirname(path));
    // Also replaces a file of the same content, which repairs a damaged one.
    await this.space.move(partial, path);
    await syncPath(dirname(path));
  }

  async #hasFile({ id, len }: Attachment): Promise<boolean> {
    const found = await stat(this.path(id)).catch(() => undefined);
    return found?.size === len;
  }

  #recordsAfter(after: string | undefined): Attachment[] {
    return this.#store.read((view) => {
      const page: Attachment[] = [];
      for (const each of storedAttachments(view, after)) {
        page.push(each);
        if (page.length === PAGE) break;
      }
      return page;
    });
  }

  /** If this fails, the collector removes the file later. */
  async #discard(id: string): Promise<void> {
    try {
      for (const unknown of this.#withoutRecord([id])) await this.space.remove(this.path(unknown));
    } catch {
      // The error of the upload itself is reported.
    }
  }

  async #removeStray(id: string, beforeMs: number): Promise<boolean> {
    const path = this.path(id);
    const found = await stat(path).catch(() => undefined);
    if (found === undefined || found.mtimeMs > beforeMs) return false;
    if (this.#withoutRecord([id]).length === 0) return false;
    await this.space.remove(path);
    return true;
  }

  #withoutRecord(ids: readonly string[]): string[] {
    return this.#store.read((view) => ids.filter((id) => attachmentOf(view, id) === undefined));
  }
}

function notContent(id: string): PeerError {
  return new PeerError("attachment.invalid", `expected the content of the attachment ${id}`);
}

export function tooLarge(sizeMax: number): PeerError {
  return new PeerError(
    "attachment.too_large",
    `expected an attachment of at most ${sizeMax} bytes`,
  );
}
