/**
 * Content hash: the id of a content and its proof, by our own SHA-256.
 */

import type { ContentHash } from "@bigpeer/engine/peer";
import { CONTENT_PROOF } from "@bigpeer/protocol";
import { Sha256Stream } from "./sha256-stream.ts";

const NOTHING = new Uint8Array(0);
const PROOF = new TextEncoder().encode(CONTENT_PROOF);

export function contentHash(): ContentHash {
  const hash = new Sha256Stream();
  return {
    update: (bytes) => hash.update(bytes),
    digests: () => ({
      id: base64Url(hash.digest(NOTHING)),
      proof: base64Url(hash.digest(PROOF)),
    }),
  };
}

function base64Url(bytes: Uint8Array): string {
  const text = btoa(String.fromCharCode(...bytes));
  return text.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}
