/**
 * Page text: reads the long texts of the values of one page as slices of one string. The decoder of
 * a browser takes several times as long for each text.
 *
 * The string is made when many texts of one page are read in a row, as in a scan, and lasts as long
 * as the texts do. Single reads use the decoder.
 */

/** Texts of the same bytes after which the string is made. */
const TEXTS_MIN = 8;

/** Longer bytes are those of one large value, or of a commit. */
const SIZE_MAX: number = 512 * 1024;

const decoder = new TextDecoder();

let current: Uint8Array | undefined;
let count = 0;
let characters: string | undefined;

/** Undefined if the text is not ASCII, or is better read alone. */
export function sliceOfPage(bytes: Uint8Array, start: number, end: number): string | undefined {
  if (bytes !== current) {
    if (bytes.length > SIZE_MAX) return undefined;
    current = bytes;
    count = 0;
    characters = undefined;
  }
  if (++count < TEXTS_MIN || !isAscii(bytes, start, end)) return undefined;
  characters ??= asciiOf(bytes);
  return characters.slice(start, end);
}

function isAscii(bytes: Uint8Array, start: number, end: number): boolean {
  let bits = 0;
  for (let at = start; at < end; at++) bits |= bytes[at] as number;
  return bits < 0x80;
}

/** A character for each byte, right for those of ASCII. So each has one byte in memory as well. */
function asciiOf(bytes: Uint8Array): string {
  const words = new Uint32Array(Math.ceil(bytes.length / 4));
  const copy = new Uint8Array(words.buffer, 0, bytes.length);
  copy.set(bytes);
  for (let at = 0; at < words.length; at++) words[at] = (words[at] as number) & 0x7f7f7f7f;
  return decoder.decode(copy);
}
