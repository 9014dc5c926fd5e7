/**
 * DeviceContents: the contents of attachments on a device, by their records in the store of the peer.
 *
 * It says which uploads of documents wait for a content (S90), which contents nothing refers to, and
 * what may be removed for others. Which contents the server still has to get is known in memory, so
 * an upload costs nothing on a device that has created no content.
 *
 * The server removes a content that no document refers to. So its answer that it has a content counts
 * for a short time, and for the credential that got it (P17). After that, the first upload that refers
 * to the content waits until the server has confirmed it again.
 */

import type { Reader } from "../../platform.ts";
import { addTokens } from "../../store/attachment-tokens.ts";
import { isReferenced } from "../../store/attachment-writer.ts";
import { CONTENTS, contentKey, contentOfKey, PENDING } from "../../store/keys.ts";
import { type PendingRecord, serverFact } from "../../store/peer-records.ts";
import type { Store } from "../../store/store.ts";
import type { UploadStep } from "../../store/upload-step.ts";
import type { View } from "../../store/view.ts";
import { localOperation } from "../layers.ts";
import { sequencedUploads, unsentSteps } from "../sequenced-upload.ts";
import type { CreatedContent } from "./content-place.ts";
import {
  CONTENT_FACT,
  type ContentRecord,
  contentFact,
  contentRecord,
  requiredContent,
} from "./content-record.ts";

/** How long the answer of a server that it has a content counts; far below its grace time (H40). */
export const CONFIRMED_MS = 600_000;

export interface DeviceContentsOptions {
  /** The wall clock of the device. */
  readonly now: () => number;
  /** An upload waits for a content that the server had, and may have removed. */
  readonly onDoubted: () => void;
}

/** That the server has a content. */
interface Confirmed {
  readonly atMs: number;
  readonly credential: string | undefined;
}

/** A content without a reference, or one that could be fetched again. */
export interface RemovableContent {
  readonly id: string;
  readonly len: number;
  readonly isReferenced: boolean;
}

export class DeviceContents {
  readonly #store: Store;
  readonly #options: DeviceContentsOptions;
  /** Contents that the server has to get, or to confirm, before documents that refer to them. */
  #awaited = new Map<string, CreatedContent>();
  readonly #confirmed = new Map<string, Confirmed>();
  /** Whether any content was created on this device. */
  #hasCreated = false;
  /** The epoch for which all that was found; undefined before. */
  #epoch: number | undefined;
  /** Names the credential of the connection; undefined before the first one. */
  credential: string | undefined;

  constructor(store: Store, options: DeviceContentsOptions) {
    this.#store = store;
    this.#options = options;
  }

  record(id: string): ContentRecord | undefined {
    return this.#store.read(({ reader }) => contentRecord(reader, id));
  }

  /** Bytes of all contents. */
  get bytes(): number {
    return this.#store.read(({ reader }) => contentFact(reader).bytes);
  }

  /** Whether a document of the store refers to a content. */
  isReferenced(id: string): boolean {
    return this.#store.read(({ reader }) => isReferenced(reader, id));
  }

  /** Whether an upload has to wait for a content (S90). */
  holds({ reader }: View, steps: readonly UploadStep[]): boolean {
    const awaited = this.#awaitedIn(reader);
    if (!this.#hasCreated) return false;
    const ids = [...tokensOf(steps)];
    // All of them, so that the server is asked about all of them at once.
    for (const id of ids) if (!awaited.has(id)) this.#doubt(id, reader);
    return ids.some((id) => awaited.has(id));
  }

  /** How many of the uploads that were never sent may be sent: those before the first that waits. */
  room(view: View, max: number): number {
    this.#awaitedIn(view.reader);
    if (!this.#hasCreated) return max;
    const life = this.#store.identity.site;
    // One that was sent to a server which lost its content waits, and all after it.
    for (const { steps } of sequencedUploads(view, life)) if (this.holds(view, steps)) return 0;
    let count = 0;
    for (const steps of unsentSteps(view, life)) {
      if (count === max || this.holds(view, steps)) break;
      count++;
    }
    return count;
  }

  /** The contents that uploads wait for, in the order of the uploads, at most `max`. */
  awaited(max: number): readonly CreatedContent[] {
    return this.#store.read(({ reader }) => {
      const found = new Map<string, CreatedContent>();
      const awaited = this.#awaitedIn(reader);
      if (awaited.size === 0) return [];
      for (const { value } of reader.entries(PENDING)) {
        for (const id of tokensOf((value as unknown as PendingRecord).steps)) {
          const content = awaited.get(id);
          if (content !== undefined) found.set(id, content);
        }
        if (found.size >= Math.min(max, awaited.size)) break;
      }
      return [...found.values()];
    });
  }

  /** Records a content whose bytes are in their place. Of one from the server there is no proof. */
  async add(
    { id, len, proof }: Omit<CreatedContent, "proof"> & { readonly proof?: string },
    atMs: number,
  ): Promise<void> {
    await this.#change(id, (known, epoch) => {
      const isFetched = proof === undefined;
      const created = proof ?? known?.proof;
      const held = isFetched ? epoch : known?.epoch;
      return {
        len,
        at: atMs,
        ...(created !== undefined && { proof: created }),
        ...(held !== undefined && { epoch: held }),
      };
    });
  }

  /** The server has it. */
  async setStored(id: string): Promise<void> {
    this.#confirmed.set(id, { atMs: this.#options.now(), credential: this.credential });
    await this.#change(id, (known, epoch) => {
      if (known === undefined) return undefined;
      const { refusal: _, ...record } = known;
      return { ...record, epoch };
    });
  }

  /** The server does not take it, or it cannot be read here: documents do not wait for it. */
  async setRefused(id: string, reason: string): Promise<void> {
    await this.#change(id, (known, epoch) => known && { ...known, refusal: { epoch, reason } });
  }

  async touch(id: string, atMs: number): Promise<void> {
    await this.#change(id, (known) => known && { ...known, at: atMs });
  }

  /**
   * Removes the record, if no write that waits refers to it: after that the content may be removed.
   * False if one does.
   */
  async remove(id: string): Promise<boolean> {
    return this.#removeIf(id, (reader) => !pendingTokens(reader).has(id));
  }

  /** As `remove`, if no document refers to it either. */
  async removeUnused(id: string): Promise<boolean> {
    return this.#removeIf(
      id,
      (reader) => !isReferenced(reader, id) && !pendingTokens(reader).has(id),
    );
  }

  /** Contents that nothing has referred to since they came before `beforeMs`. */
  unused(beforeMs: number): readonly string[] {
    return this.#store.read(({ reader }) => {
      const due: string[] = [];
      const pending = pendingTokens(reader);
      for (const { key, value } of reader.entries(CONTENTS)) {
        const id = contentOfKey(key);
        const { at } = value as ContentRecord;
        if (at < beforeMs && !pending.has(id) && !isReferenced(reader, id)) due.push(id);
      }
      return due;
    });
  }

  /**
   * Contents that the server has and that no write waits for: those without a reference first, then
   * those that were not used for the longest time.
   */
  removable(): readonly RemovableContent[] {
    return this.#store.read(({ reader }) => {
      const found: (RemovableContent & { readonly at: number })[] = [];
      const { epoch } = serverFact(reader);
      const pending = pendingTokens(reader);
      for (const { key, value } of reader.entries(CONTENTS)) {
        const record = value as ContentRecord;
        const id = contentOfKey(key);
        if (record.epoch !== epoch || pending.has(id)) continue;
        const { len, at } = record;
        found.push({ id, len, at, isReferenced: isReferenced(reader, id) });
      }
      return found.sort((a, b) => Number(a.isReferenced) - Number(b.isReferenced) || a.at - b.at);
    });
  }

  #awaitedIn(reader: Reader): ReadonlyMap<string, CreatedContent> {
    const { epoch } = serverFact(reader);
    if (this.#epoch === epoch) return this.#awaited;
    this.#epoch = epoch;
    this.#awaited = new Map();
    for (const { key, value } of reader.entries(CONTENTS)) {
      this.#note(contentOfKey(key), value as ContentRecord, epoch);
    }
    return this.#awaited;
  }

  #note(id: string, record: ContentRecord | undefined, epoch: number): void {
    const content = record && requiredContent(id, record, epoch);
    if (content !== undefined) this.#hasCreated = true;
    else this.#confirmed.delete(id);
    if (content === undefined || record?.epoch === epoch) this.#awaited.delete(id);
    else this.#awaited.set(id, content);
  }

  /** An upload refers to a content that the server had: it waits, unless that is certain. */
  #doubt(id: string, reader: Reader): void {
    if (this.#isConfirmed(id)) return;
    const record = contentRecord(reader, id);
    const content = record && requiredContent(id, record, serverFact(reader).epoch);
    if (content === undefined) return;
    this.#awaited.set(id, content);
    this.#options.onDoubted();
  }

  #isConfirmed(id: string): boolean {
    const confirmed = this.#confirmed.get(id);
    if (confirmed === undefined || confirmed.credential !== this.credential) return false;
    const ageMs = this.#options.now() - confirmed.atMs;
    // The clock may have been set back.
    return ageMs >= 0 && ageMs < CONFIRMED_MS;
  }

  /** Removes a record, unless something needs it: then false. */
  async #removeIf(id: string, isFree: (reader: Reader) => boolean): Promise<boolean> {
    let isRemoved = false;
    await this.#change(id, (known, _, reader) => {
      isRemoved = isFree(reader);
      return isRemoved ? undefined : known;
    });
    return isRemoved;
  }

  async #change(
    id: string,
    change: (
      known: ContentRecord | undefined,
      epoch: number,
      reader: Reader,
    ) => ContentRecord | undefined,
  ): Promise<void> {
    const { result } = await this.#store.transact((transaction) => {
      const { reader } = transaction.view;
      const { epoch } = serverFact(reader);
      const known = contentRecord(reader, id);
      const next = change(known, epoch, reader);
      const { bytes } = contentFact(reader);
      const fact = { bytes: bytes - (known?.len ?? 0) + (next?.len ?? 0) };
      transaction.apply([
        localOperation(contentKey(id), next ?? null),
        localOperation(CONTENT_FACT, fact),
      ]);
      return next;
    });
    if (this.#epoch !== undefined) this.#note(id, result, this.#epoch);
  }
}

function tokensOf(steps: readonly UploadStep[]): ReadonlySet<string> {
  const ids = new Set<string>();
  for (const { operations } of steps) for (const each of operations) addTokens(each, ids);
  return ids;
}

/** What the writes that wait for the server refer to. */
function pendingTokens(reader: Reader): ReadonlySet<string> {
  const ids = new Set<string>();
  for (const { value } of reader.entries(PENDING)) {
    for (const id of tokensOf((value as unknown as PendingRecord).steps)) ids.add(id);
  }
  return ids;
}
