/**
 * Attachment: the content of an attachment, on this device.
 */

import { host } from "../this-host.ts";
import type { AttachmentMetadata, AttachmentToken } from "./attachment-token.ts";
import { asDittoErrors, DittoError } from "./ditto-error.ts";
import type { Instance } from "./instance.ts";
import { fileError } from "./logger.ts";

export class Attachment<D extends Instance = Instance> {
  readonly ditto: D;
  readonly token: AttachmentToken;

  constructor(ditto: D, token: AttachmentToken) {
    this.ditto = ditto;
    this.token = token;
  }

  get id(): string {
    return this.token.id;
  }

  /** Bytes of the content. */
  get len(): number | bigint {
    return this.token.len;
  }

  get metadata(): AttachmentMetadata {
    return { ...this.token.metadata };
  }

  /** Reads all of it into memory. */
  data(): Promise<Uint8Array> {
    return asDittoErrors(async () => {
      const peer = await this.ditto.opening.opened;
      return (await peer.attachments.fetch(peerToken(this.token))).bytes();
    });
  }

  /** Writes the content to a file. Not in browsers. */
  async copyToPath(path: string): Promise<void> {
    const { writeFile } = host;
    if (writeFile === undefined) {
      throw new DittoError("unsupported", "a browser has no files to copy an attachment to");
    }
    const bytes = await this.data();
    try {
      await writeFile(path, bytes, false);
    } catch (error) {
      throw fileError(error);
    }
  }
}

/** A token with a number as its length: a content of 2^53 bytes cannot be. */
export function peerToken({ id, len, metadata }: AttachmentToken): {
  readonly id: string;
  readonly len: number;
  readonly metadata: AttachmentMetadata;
} {
  return { id, len: Number(len), metadata };
}
