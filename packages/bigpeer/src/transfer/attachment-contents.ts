/**
 * Contents of attachments beside an export: each in a file whose name is its id, which is the hash of
 * the content.
 */

import { createWriteStream } from "node:fs";
import { mkdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import type { BigPeerClient } from "@bigpeer/client";
import { isObject, type Value } from "@bigpeer/protocol";

/** Where an export to a file writes contents, and an import of that file finds them. */
export function contentsBeside(file: string): string {
  return `${file}.attachments`;
}

/** Whether a line of a full export may name an attachment. */
export function mayHaveAttachment(line: string): boolean {
  return line.includes('{"attachment":');
}

/** Ids of the attachments of a line of a full export. */
export function attachmentsIn(line: Value): string[] {
  return idsIn(isObject(line) ? (line["fields"] ?? null) : null);
}

/** Fetches contents into a folder. */
export class AttachmentContents {
  readonly #client: BigPeerClient;
  readonly #folder: string;
  readonly #known = new Set<string>();
  #missing = 0;

  constructor(client: BigPeerClient, folder: string) {
    this.#client = client;
    this.#folder = folder;
  }

  /** How many the server does not have. */
  get missing(): number {
    return this.#missing;
  }

  /** Fetches those that were not fetched yet. */
  async fetch(ids: readonly string[], signal: AbortSignal): Promise<void> {
    for (const id of ids) {
      if (this.#known.has(id)) continue;
      this.#known.add(id);
      const content = await this.#open(id, signal);
      if (content === undefined) this.#missing++;
      else await this.#save(id, content);
    }
  }

  /** Undefined for content that was never uploaded, as that of a device that is offline. */
  async #open(id: string, signal: AbortSignal): Promise<ReadableStream<Uint8Array> | undefined> {
    try {
      return await this.#client.attachments.stream(id, { signal });
    } catch (error) {
      if ((error as { readonly code?: string }).code === "http.404") return undefined;
      throw error;
    }
  }

  async #save(id: string, content: ReadableStream<Uint8Array>): Promise<void> {
    await mkdir(this.#folder, { recursive: true });
    const path = join(this.#folder, id);
    try {
      await pipeline(content, createWriteStream(`${path}.part`, { mode: 0o600 }));
      await rename(`${path}.part`, path);
    } catch (error) {
      await rm(`${path}.part`, { force: true });
      throw error;
    }
  }
}

/** Ids of attachments in wrapped fields. */
function idsIn(fields: Value): string[] {
  if (!isObject(fields)) return [];
  return Object.values(fields).flatMap((wrapped) => {
    if (!isObject(wrapped)) return [];
    const map = wrapped["map"];
    if (map !== undefined && isObject(map)) return idsIn(map["value"] ?? null);
    const attachment = wrapped["attachment"];
    const token =
      attachment !== undefined && isObject(attachment) ? attachment["value"] : undefined;
    const id = token !== undefined && isObject(token) ? token["id"] : undefined;
    // An id becomes the name of a file.
    return typeof id === "string" && /^[\w-]+$/.test(id) ? [id] : [];
  });
}
