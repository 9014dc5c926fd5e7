/**
 * Attachments: uploads and downloads content that documents refer to. The id of content is its hash,
 * so an upload may be repeated: the same bytes have the same id.
 */

import { pathText } from "./address.ts";
import type { UploadedAttachment, UploadProgress } from "./generated/data-api.ts";
import type { CallOptions } from "./options.ts";
import { type HttpRequest, readJson, readStream, readWithLists, type Send } from "./request.ts";

/** Content to upload. On Node, `fs.openAsBlob` reads a file while it is sent. */
export type Content = Blob | Uint8Array | ArrayBuffer | string;

/** Options of a download. */
export interface DownloadOptions extends CallOptions {
  /** First byte of the part to download, from 0. */
  readonly start?: number | undefined;
  /** Byte after the last one of the part. */
  readonly end?: number | undefined;
}

/** Options of the beginning of an upload. */
export interface BeginUploadOptions extends CallOptions {
  /**
   * Shows that the caller has the content: SHA-256, in base64url, of the content followed by the
   * text `bigpeer possession`.
   */
  readonly proof?: string | undefined;
}

/** Options of the next part of an upload. */
export interface ContinueUploadOptions extends CallOptions {
  /** Byte of the content at which the part begins. */
  readonly offset: number;
  /** Bytes of the whole content. */
  readonly len: number;
}

/** Content takes longer than other answers. The server ends a transfer that does not go on. */
const TIMEOUT_MS = 300_000;

/** Upload and download of attachments; see {@link BigPeerClient.attachments}. */
export class Attachments {
  readonly #send: Send;

  constructor(send: Send) {
    this.#send = send;
  }

  /** Uploads content. A document refers to it by `id` and `len`. */
  upload(content: Content, options: CallOptions = {}): Promise<UploadedAttachment> {
    const body = new FormData();
    body.append("file", blobOf(content), "file");
    return this.#call<UploadedAttachment>("POST", "/attachments/upload", options, {
      body,
      read: readWithLists(),
    });
  }

  /**
   * Begins or continues an upload in parts. The next part begins at `offset` of the answer; if that
   * is `len`, the content is stored. `id` is the SHA-256 of the content, in base64url.
   */
  beginUpload(id: string, len: number, options: BeginUploadOptions = {}): Promise<UploadProgress> {
    const { proof } = options;
    return this.#call<UploadProgress>("POST", `${pathOf(id)}/upload`, options, {
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ len, proof }),
      read: readJson,
    });
  }

  /**
   * Sends the next part of an upload. It is not sent again if its connection is lost: a part of it
   * may have arrived, and `beginUpload` gives the offset.
   */
  continueUpload(
    id: string,
    part: Content,
    options: ContinueUploadOptions,
  ): Promise<UploadProgress> {
    const { offset, len } = options;
    return this.#call<UploadProgress>("PATCH", `${pathOf(id)}/upload`, options, {
      headers: {
        "content-type": "application/octet-stream",
        "upload-offset": String(offset),
        "upload-length": String(len),
      },
      body: blobOf(part),
      isRepeatable: false,
      read: readJson,
    });
  }

  /** Downloads the content, or a part of it. Throws `http.404` if it is not there. */
  download(id: string, options: DownloadOptions = {}): Promise<Uint8Array> {
    return this.#call("GET", pathOf(id), options, {
      headers: rangeOf(options),
      read: async (response) => new Uint8Array(await response.arrayBuffer()),
    });
  }

  /**
   * As `download`, as a stream, for content that memory cannot hold. A connection that is lost while
   * you read is an error of the stream: continue with `start`.
   */
  stream(id: string, options: DownloadOptions = {}): Promise<ReadableStream<Uint8Array>> {
    return this.#call("GET", pathOf(id), options, {
      headers: rangeOf(options),
      isStream: true,
      read: (response) => readStream(response, "application/octet-stream"),
    });
  }

  /** Size of the content in bytes; undefined if it is not there. */
  async size(id: string, options: CallOptions = {}): Promise<number | undefined> {
    try {
      return await this.#call("HEAD", pathOf(id), options, {
        read: async ({ headers }) => Number(headers.get("content-length")),
      });
    } catch (error) {
      if ((error as { readonly status?: number }).status === 404) return undefined;
      throw error;
    }
  }

  #call<T>(
    method: string,
    url: string,
    options: CallOptions,
    rest: Partial<HttpRequest<T>> & Pick<HttpRequest<T>, "read">,
  ): Promise<T> {
    const call = { ...options, timeoutMs: options.timeoutMs ?? TIMEOUT_MS };
    return this.#send({ method, url, headers: {}, isRepeatable: true, ...rest }, call);
  }
}

function blobOf(content: Content): Blob {
  // Blob takes any bytes; its type in browsers leaves out those of shared memory.
  return content instanceof Blob ? content : new Blob([content as Uint8Array<ArrayBuffer>]);
}

function pathOf(id: string): string {
  return pathText("attachments", id);
}

function rangeOf({ start, end }: DownloadOptions): Record<string, string> {
  if (start === undefined && end === undefined) return {};
  return { range: `bytes=${start ?? 0}-${end === undefined ? "" : end - 1}` };
}
