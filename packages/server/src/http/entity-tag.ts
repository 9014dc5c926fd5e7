/**
 * HTTP entity tags: compares `If-None-Match` with the tag of the current version, for 304.
 */

/** Whether the header `If-None-Match` includes the tag; weak comparison. */
export function isNamedBy(ifNoneMatch: string | undefined, etag: string): boolean {
  const tags = (ifNoneMatch ?? "").split(",").map((tag) => strong(tag.trim()));
  return tags.includes("*") || tags.includes(strong(etag));
}

function strong(tag: string): string {
  return tag.replace(/^W\//, "");
}
