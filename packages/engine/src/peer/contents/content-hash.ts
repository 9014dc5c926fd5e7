/**
 * ContentHash: computes the id of a content and its proof while the content passes. Hosts have their
 * own, because Node has a fast one.
 */

export interface ContentHash {
  update(bytes: Uint8Array): void;
  /** SHA-256 of all bytes, and of all bytes with CONTENT_PROOF after them, both in base64url. */
  digests(): { readonly id: string; readonly proof: string };
}
