/**
 * Known text: interned short strings, decoded from bytes without a call into the host. All formats
 * of a process share one table.
 *
 * Fields repeat their names and many of their values. Interning returns a known string: that is
 * faster than creating one, takes no memory, and makes later comparison faster. An unknown string
 * is created in one call, because growing it by one character at a time leaves garbage for each.
 */

/** Longest interned text in bytes, and the number of slots. */
const KNOWN_SIZE_MAX = 16;
const KNOWN_COUNT = 4096;
/** The upper bits of a 32-bit hash select the slot. */
const KNOWN_SHIFT = 20;

const known: string[] = Array.from({ length: KNOWN_COUNT }, () => "");
/** The last hash in each slot: text is interned when it comes a second time. */
const lastHashes: Int32Array = new Int32Array(KNOWN_COUNT);

/** The text of `size` bytes from `start` on. `read` creates it unless it is known. */
export function knownText<T extends string | undefined>(
  bytes: Uint8Array,
  start: number,
  size: number,
  read: (bytes: Uint8Array, start: number, size: number) => T,
): T | string {
  if (size === 0) return "";
  if (size > KNOWN_SIZE_MAX) return read(bytes, start, size);
  // A few of its bytes distinguish most text; then all are compared.
  const first = bytes[start] as number;
  const middle = bytes[start + (size >> 1)] as number;
  const last = bytes[start + size - 1] as number;
  const hash = Math.imul((first << 24) | (middle << 16) | (last << 8) | size, 0x9e3779b1);
  const place = hash >>> KNOWN_SHIFT;
  const text = known[place] as string;
  if (isTextAt(text, bytes, start, size)) return text;
  const made = read(bytes, start, size);
  // Only ASCII has as many characters as bytes; the comparison above is for ASCII alone.
  if (made?.length !== size) return made;
  if (lastHashes[place] === hash) known[place] = made;
  else lastHashes[place] = hash;
  return made;
}

/** Whether the bytes there are this ASCII text. */
function isTextAt(text: string, bytes: Uint8Array, start: number, size: number): boolean {
  if (text.length !== size) return false;
  for (let i = 0; i < size; i++) if (text.charCodeAt(i) !== bytes[start + i]) return false;
  return true;
}

/** Up to here a loop over the bytes is faster than the call into the host. */
export const SHORT_TEXT_SIZE_MAX = 40;

/** For each size a reusable list of characters: the arguments of one call. */
const units: readonly number[][] = Array.from({ length: SHORT_TEXT_SIZE_MAX + 1 }, (_, size) =>
  Array.from({ length: size }, () => 0),
);

/** The text of at most SHORT_TEXT_SIZE_MAX bytes; undefined when it is not ASCII. */
export function shortText(bytes: Uint8Array, start: number, size: number): string | undefined {
  return knownText(bytes, start, size, newText);
}

/** Text of one character for each of `size` bytes. */
export function byteText(bytes: Uint8Array, start: number, size: number): string {
  let text = "";
  for (let at = 0; at < size; at += SHORT_TEXT_SIZE_MAX) {
    const list = units[Math.min(size - at, SHORT_TEXT_SIZE_MAX)] as number[];
    for (let i = 0; i < list.length; i++) list[i] = bytes[start + at + i] as number;
    text += String.fromCharCode(...list);
  }
  return text;
}

function newText(bytes: Uint8Array, start: number, size: number): string | undefined {
  const list = units[size] as number[];
  let bits = 0;
  for (let i = 0; i < size; i++) {
    const byte = bytes[start + i] as number;
    bits |= byte;
    list[i] = byte;
  }
  return bits < 0x80 ? String.fromCharCode(...list) : undefined;
}
