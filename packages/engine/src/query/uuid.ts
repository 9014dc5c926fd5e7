/**
 * uuidOf: generates UUIDs of version 4, for request ids and for documents without an id.
 */

const HEX: readonly string[] = Array.from({ length: 256 }, (_, byte) =>
  byte.toString(16).padStart(2, "0"),
);

/** A new UUID from 16 random bytes. */
export function uuidOf(random: (size: number) => Uint8Array): string {
  const bytes = random(16);
  let text = "";
  for (let i = 0; i < 16; i++) {
    let byte = bytes[i] ?? 0;
    if (i === 6) byte = (byte & 0x0f) | 0x40;
    else if (i === 8) byte = (byte & 0x3f) | 0x80;
    if (i === 4 || i === 6 || i === 8 || i === 10) text += "-";
    text += HEX[byte];
  }
  return text;
}
