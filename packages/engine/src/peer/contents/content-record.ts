/**
 * Content records: which contents are on a device, and what its server has of them. They lie in the
 * store of the peer (K95); the contents themselves lie in a ContentPlace.
 */

import { CONTENTS, contentKey, peerFactKey } from "../../store/keys.ts";
import type { Records } from "../../store/peer-records.ts";
import type { Store } from "../../store/store.ts";
import type { CreatedContent } from "./content-place.ts";

/** A content that is complete on the device. */
export type ContentRecord = {
  readonly len: number;
  /** When it was created or fetched, or an app last fetched it from here, in milliseconds. */
  readonly at: number;
  /** Of a content that was created here: shows the server that the device has it. */
  readonly proof?: string;
  /** The epoch of the server that has it (S38). */
  readonly epoch?: number;
  /** Why the server of an epoch does not take it. */
  readonly refusal?: { readonly epoch: number; readonly reason: string };
};

/** All contents on the device together. */
export type ContentFact = { readonly bytes: number };

export const CONTENT_FACT: string = peerFactKey("contents");

const NO_CONTENTS: ContentFact = { bytes: 0 };

export function contentFact(reader: Records): ContentFact {
  return (reader.get(CONTENT_FACT) as ContentFact | undefined) ?? NO_CONTENTS;
}

export function contentRecord(reader: Records, id: string): ContentRecord | undefined {
  return reader.get(contentKey(id)) as ContentRecord | undefined;
}

/** The content, if the server has to have it before a document that refers to it (S90). */
export function requiredContent(
  id: string,
  { len, proof, refusal }: ContentRecord,
  epoch: number,
): CreatedContent | undefined {
  return proof === undefined || refusal?.epoch === epoch ? undefined : { id, len, proof };
}

/** Whether any content is on the device. */
export function hasContents(store: Store): boolean {
  return store.read(({ reader }) => {
    for (const _ of reader.entries(CONTENTS)) return true;
    return false;
  });
}
