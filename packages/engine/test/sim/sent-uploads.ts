/**
 * What peers have sent as uploads, from the wire. A site and a number may stand for several contents:
 * a store that was copied writes as one site with its copy until it is told (S29). One content, once
 * sent, never changes (S33).
 */

import { canonicalBytes, type Site, type Value } from "@bigpeer/protocol";
import type { UploadStep } from "../../src/store/upload-step.ts";
import type { Scheduler } from "./scheduler.ts";

export interface SentUpload {
  readonly site: Site;
  readonly number: number;
  readonly steps: readonly UploadStep[];
  /** The names of the local writes that it carries. */
  readonly tags: readonly string[];
  readonly content: string;
  /** The disks of those who have sent it: they know that they have. */
  readonly senders: Set<object>;
}

export function digestText(digest: Uint8Array): string {
  return Buffer.from(digest).toString("hex").slice(0, 12);
}

export class SentUploads {
  readonly #scheduler: Scheduler;
  readonly #sent = new Map<string, SentUpload>();

  constructor(scheduler: Scheduler) {
    this.#scheduler = scheduler;
  }

  add(site: Site, number: number, digest: Uint8Array, steps: readonly UploadStep[]): SentUpload {
    const name = nameOf(site, number, digest);
    const content = Buffer.from(canonicalBytes(steps as unknown as Value)).toString("latin1");
    const known = this.#sent.get(name);
    if (known !== undefined) {
      if (known.content !== content) this.#scheduler.fail("[S33] an upload never changes", name);
      return known;
    }
    const tags = tagsIn(steps as unknown as Value);
    const sent = { site, number, steps, content, tags, senders: new Set<object>() };
    this.#sent.set(name, sent);
    return sent;
  }

  find(site: Site, number: number, digest: Uint8Array): SentUpload | undefined {
    return this.#sent.get(nameOf(site, number, digest));
  }

  all(): Iterable<SentUpload> {
    return this.#sent.values();
  }
}

function nameOf(site: Site, number: number, digest: Uint8Array): string {
  return `${site}/${number}/${digestText(digest)}`;
}

/** Each local write puts a name of its own into a field; here they are found again. */
export const TAG = "#";

export function tagsIn(value: Value): string[] {
  const tags = new Set<string>();
  const walk = (part: unknown): void => {
    if (typeof part === "string") {
      if (part.startsWith(TAG)) tags.add(part);
    } else if (typeof part === "object" && part !== null && !(part instanceof Uint8Array)) {
      for (const inner of Object.values(part)) walk(inner);
    }
  };
  walk(value);
  return [...tags];
}
