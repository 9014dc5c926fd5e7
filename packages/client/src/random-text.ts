/**
 * Random text that no other has.
 */

/** 128 random bits. `crypto.randomUUID` is absent on pages without TLS. */
export function randomText(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
