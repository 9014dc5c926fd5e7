/**
 * Entity tags: whether a client has what it would be sent.
 */

/** Whether a header If-None-Match names the tag; a weak one is as good. */
export function isNamedBy(ifNoneMatch: string | undefined, etag: string): boolean {
  const tags = (ifNoneMatch ?? "").split(",").map((tag) => strong(tag.trim()));
  return tags.includes("*") || tags.includes(strong(etag));
}

function strong(tag: string): string {
  return tag.replace(/^W\//, "");
}
