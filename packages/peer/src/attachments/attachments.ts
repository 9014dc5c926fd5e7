/**
 * Attachments: creates and fetches the contents that documents refer to, for the app. The contents
 * are on the device; transfers go on in the background while sync is active.
 */

import type { PeerContents, WantedContent } from "@bigpeer/engine/peer";
import { PeerError } from "@bigpeer/protocol";
import { kindOf } from "../argument-check.ts";
import { type AttachmentContent, type OpenPath, piecesOf } from "./content-pieces.ts";

/**
 * The token of an attachment: the value of a field of the type ATTACHMENT.
 *
 * @example
 * const photo: AttachmentToken = await peer.attachments.create(new Uint8Array([1, 2, 3]));
 * await peer.store.execute(
 *   "INSERT INTO COLLECTION tasks (photo ATTACHMENT) DOCUMENTS (:task)",
 *   { task: { _id: "t1", photo } },
 * );
 */
export type AttachmentToken = {
  /** SHA-256 of the content in base64url. */
  readonly id: string;
  /** Bytes of the content. */
  readonly len: number;
  /** Texts of the app, for example the name of a file. */
  readonly metadata: { readonly [name: string]: string };
};

/**
 * How far a fetch is.
 *
 * @example
 * const percent = ({ received, total }: FetchProgress): number => (100 * received) / total;
 */
export interface FetchProgress {
  /** Bytes on the device. */
  readonly received: number;
  /** Bytes of the whole content. */
  readonly total: number;
}

/**
 * The options of a fetch.
 *
 * @example
 * const options: FetchOptions = {
 *   onProgress: ({ received, total }) => console.log(`${received} of ${total} bytes`),
 *   signal: AbortSignal.timeout(60_000),
 * };
 */
export interface FetchOptions {
  /** Receives the progress while the content arrives. If it throws, the fetch rejects with its error. */
  readonly onProgress?: (progress: FetchProgress) => void;
  /** Ends the fetch. What arrived stays on the device for the next one. */
  readonly signal?: AbortSignal;
}

/**
 * The content of an attachment, on the device.
 *
 * @example
 * const token = await peer.attachments.create(new TextEncoder().encode("hello"));
 * const fetched: FetchedAttachment = await peer.attachments.fetch(token);
 * console.log(fetched.size, new TextDecoder().decode(await fetched.bytes())); // 5 hello
 */
export interface FetchedAttachment {
  /** Bytes of the content. */
  readonly size: number;
  /** The metadata of the token. */
  readonly metadata: { readonly [name: string]: string };
  /** Reads all of it into memory. */
  bytes(): Promise<Uint8Array>;
  /** Reads it piece by piece. */
  stream(): ReadableStream<Uint8Array>;
}

/** The contents; a page reaches them through its worker. */
export type ContentAccess = Pick<PeerContents, "create" | "fetch" | "read">;

export interface AttachmentsOptions {
  readonly contents: ContentAccess;
  readonly openPath: OpenPath;
}

/**
 * `peer.attachments`: contents that are too large for documents, such as photos and files.
 *
 * @example
 * const bytes = new TextEncoder().encode("a photo");
 * const photo = await peer.attachments.create(bytes, { name: "photo.jpg" });
 * await peer.store.execute(
 *   "INSERT INTO COLLECTION tasks (photo ATTACHMENT) DOCUMENTS (:task)",
 *   { task: { _id: "t1", photo } },
 * );
 * const content = await peer.attachments.fetch(photo);
 * console.log(content.size, content.metadata); // 7 { name: 'photo.jpg' }
 */
export type PeerAttachments = Pick<Attachments, "create" | "fetch">;

export class Attachments {
  readonly #options: AttachmentsOptions;

  constructor(options: AttachmentsOptions) {
    this.#options = options;
  }

  /**
   * Stores a content on this device, also without a connection. It is uploaded before the first
   * document that refers to it. A content that no document refers to is removed after a day.
   *
   * @param content - Bytes, a `Blob`, a stream of bytes, or on Node the path of a file.
   * @param metadata - Texts that every reader of the token sees.
   * @returns The token, to be written into a field of the type ATTACHMENT.
   * @throws `config.invalid`: the content or the metadata is of another kind, or the file cannot be
   * read.
   * @throws `store.full`: there is no space for it. Nothing of it was stored.
   * @throws `store.closed`: the peer is closed.
   */
  async create(
    content: AttachmentContent,
    metadata: { readonly [name: string]: string } = {},
  ): Promise<AttachmentToken> {
    const texts = checkTexts(metadata);
    const pieces = piecesOf(content, this.#options.openPath);
    const { id, len } = await this.#options.contents.create(pieces);
    return { id, len, metadata: texts };
  }

  /**
   * Gets the content of an attachment: from this device if it is there, otherwise from the server. It
   * waits while the content is not on the server yet, or there is no connection.
   *
   * @param token - The value of an ATTACHMENT field, as `create` and SELECT give it.
   * @param options - Progress, and a signal; when that aborts, it rejects with the reason of the signal.
   * @returns The content, on this device.
   * @throws `attachment.invalid`: it is not a token, or the server has other bytes for it.
   * @throws `config.invalid`: the options are of another kind.
   * @throws `store.full`: there is no space for it.
   * @throws `store.closed`: the peer is closed.
   */
  async fetch(
    token: Pick<AttachmentToken, "id" | "len"> & Partial<AttachmentToken>,
    options: FetchOptions = {},
  ): Promise<FetchedAttachment> {
    const { metadata, ...wanted } = checkToken(token);
    const checked = checkOptions(options);
    checked.signal?.throwIfAborted();
    await this.#arrival(wanted, checked);
    return fetched(this.#options.contents, wanted, metadata);
  }

  /** Rejects with the reason of the signal as soon as it aborts. */
  async #arrival(wanted: WantedContent, { onProgress, signal }: FetchOptions): Promise<void> {
    const ended = withReject();
    const abort = (): void => ended.reject(signal?.reason);
    signal?.addEventListener("abort", abort);
    let giveUp: (() => void) | undefined;
    try {
      const { arrived, cancel } = this.#options.contents.fetch(wanted, (received) => {
        try {
          onProgress?.({ received, total: wanted.len });
        } catch (error) {
          // It must not end the fetches of others.
          ended.reject(error);
        }
      });
      giveUp = cancel;
      await Promise.race([ended.promise, arrived]);
    } catch (error) {
      giveUp?.();
      throw error;
    } finally {
      signal?.removeEventListener("abort", abort);
    }
  }
}

function fetched(
  contents: ContentAccess,
  wanted: WantedContent,
  metadata: AttachmentToken["metadata"],
): FetchedAttachment {
  return {
    size: wanted.len,
    metadata,
    bytes: async () => {
      const bytes = new Uint8Array(wanted.len);
      let size = 0;
      for await (const piece of contents.read(wanted)) {
        bytes.set(piece, size);
        size += piece.length;
      }
      return bytes;
    },
    stream: () => streamOf(contents.read(wanted)),
  };
}

function streamOf(pieces: AsyncIterable<Uint8Array>): ReadableStream<Uint8Array> {
  const iterator = pieces[Symbol.asyncIterator]();
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await iterator.next();
      if (done === true) controller.close();
      else controller.enqueue(value);
    },
    async cancel() {
      await iterator.return?.();
    },
  });
}

function withReject(): {
  readonly promise: Promise<never>;
  readonly reject: (error: unknown) => void;
} {
  let reject: ((error: unknown) => void) | undefined;
  const promise = new Promise<never>((_, give) => {
    reject = give;
  });
  return { promise, reject: (error) => reject?.(error) };
}

const CONTENT_ID = /^[\w-]{43}$/;

function checkToken(token: unknown): AttachmentToken {
  const { id, len, metadata } = (token ?? {}) as Partial<Record<keyof AttachmentToken, unknown>>;
  const isLength = typeof len === "number" && Number.isSafeInteger(len) && len >= 0;
  const texts = textsOf(metadata ?? {});
  if (typeof id !== "string" || !CONTENT_ID.test(id) || !isLength || texts === undefined) {
    const expected = "a token {id, len, metadata} as create and SELECT give it";
    const found = typeof token === "object" && token !== null ? "another object" : kindOf(token);
    throw new PeerError("attachment.invalid", `expected ${expected}, found ${found}`);
  }
  return { id, len, metadata: texts };
}

function checkOptions(options: unknown): FetchOptions {
  const given = (options ?? {}) as FetchOptions;
  const { onProgress, signal }: { [Name in keyof FetchOptions]: unknown } = given;
  const isFunction = onProgress === undefined || typeof onProgress === "function";
  const isSignal = signal === undefined || signal instanceof AbortSignal;
  if (isFunction && isSignal) return given;
  const found = isFunction ? `${kindOf(signal)} as signal` : `${kindOf(onProgress)} as onProgress`;
  const expected = "a function as onProgress and an AbortSignal as signal";
  throw new PeerError("config.invalid", `expected ${expected}, found ${found}`);
}

function checkTexts(metadata: unknown): AttachmentToken["metadata"] {
  const texts = textsOf(metadata);
  if (texts !== undefined) return texts;
  const message = "expected an object of texts as the metadata of an attachment";
  throw new PeerError("config.invalid", message);
}

function textsOf(metadata: unknown): AttachmentToken["metadata"] | undefined {
  const isObject = typeof metadata === "object" && metadata !== null && !Array.isArray(metadata);
  return isObject && Object.values(metadata).every(isText) ? { ...metadata } : undefined;
}

function isText(value: unknown): boolean {
  return typeof value === "string";
}
