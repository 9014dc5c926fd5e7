/**
 * Uploads as a small peer numbers, stamps and chains them.
 */

import { timeOfMs, type UploadOperation } from "@bigpeer/protocol";
import type { Platform } from "../../src/platform.ts";
import { type Upload, type UploadAnswer, uploadDigest } from "../../src/store/upload.ts";
import type { UploadStep } from "../../src/store/upload-step.ts";
import { START_MS } from "./test-platform.ts";

export class SiteUploads {
  readonly site: string;
  readonly #platform: Platform;
  #number = 0;
  #digest: Uint8Array | undefined;
  #time: number;

  /** Its times begin a second after the clock of a test platform, or at `time`. */
  constructor(platform: Platform, site = "00000000000000aa", time = timeOfMs(START_MS + 1000)) {
    this.#platform = platform;
    this.site = site;
    this.#time = time;
  }

  /** The next upload, with one step. */
  next(...operations: UploadOperation[]): Upload {
    return this.ofSteps(operations);
  }

  /** The next upload, each step of it a tick later than the one before. */
  ofSteps(...steps: UploadOperation[][]): Upload {
    return this.at(this.#time + 1, ...steps);
  }

  /** The same with a time for the first step. */
  at(time: number, ...lists: UploadOperation[][]): Upload {
    const steps: UploadStep[] = lists.map((operations, i) => ({ time: time + i, operations }));
    this.#time = Math.max(this.#time, time + lists.length);
    this.#digest = uploadDigest(this.#platform, this.#digest, steps);
    return { site: this.site, number: ++this.#number, digest: this.#digest, steps };
  }
}

/** What became of an upload, with its reason. */
export function outcomeOf(answer: UploadAnswer): string {
  if (answer.kind !== "taken") return answer.kind;
  const { outcome, reason } = answer.record;
  return reason === "" ? outcome : `${outcome}: ${reason}`;
}
