/**
 * Content hash: the id of a content and its proof, by the SHA-256 of Node.
 */

import { createHash } from "node:crypto";
import type { ContentHash } from "@bigpeer/engine/peer";
import { CONTENT_PROOF } from "@bigpeer/protocol";

export function contentHash(): ContentHash {
  const hash = createHash("sha256");
  return {
    update: (bytes) => {
      hash.update(bytes);
    },
    digests: () => ({
      id: hash.copy().digest("base64url"),
      proof: hash.copy().update(CONTENT_PROOF).digest("base64url"),
    }),
  };
}
