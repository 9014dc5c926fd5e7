/**
 * Checksum of 32 bits for the records in IndexedDB, fast enough to check all keys of a store when it
 * is opened.
 *
 * It mixes one word at a time with a step that is a bijection of the state and of the word. So every
 * change within one word of four bytes is detected, and other changes except for one in 2³². It is
 * no protection against an attacker.
 */

const MULTIPLIER = 0x9e3779b1;
const WORD_SIZE = 4;

export function checksumOfBytes(bytes: Uint8Array, seed: number): number {
  const { length } = bytes;
  const view = new DataView(bytes.buffer, bytes.byteOffset, length);
  const end = length - (length % WORD_SIZE);
  let sum = mix(seed | 0, length);
  for (let at = 0; at < end; at += WORD_SIZE) sum = mix(sum, view.getInt32(at, true));
  for (let at = end; at < length; at++) sum = mix(sum, view.getUint8(at));
  return sum >>> 0;
}

/** Holds the keys of a page. */
const copy = new Uint8Array(256 * 1024);
const encoder = new TextEncoder();

/** Of text in which every character is one byte. */
export function checksumOfKeys(text: string, seed: number): number {
  // Most keys are ASCII. Their bytes take a third of the time of their characters.
  const { read, written } = encoder.encodeInto(text, copy);
  const isAscii = read === text.length && written === text.length;
  return isAscii ? checksumOfBytes(copy.subarray(0, written), seed) : sumOfText(text, seed);
}

function sumOfText(text: string, seed: number): number {
  const { length } = text;
  const end = length - (length % WORD_SIZE);
  let sum = mix(seed | 0, length);
  for (let at = 0; at < end; at += WORD_SIZE) {
    const low = text.charCodeAt(at) | (text.charCodeAt(at + 1) << 8);
    const high = text.charCodeAt(at + 2) | (text.charCodeAt(at + 3) << 8);
    sum = mix(sum, low | (high << 16));
  }
  for (let at = end; at < length; at++) sum = mix(sum, text.charCodeAt(at));
  return sum >>> 0;
}

export function checksumOfNumbers(numbers: Uint32Array, seed: number): number {
  let sum = mix(seed | 0, numbers.length);
  for (let at = 0; at < numbers.length; at++) sum = mix(sum, numbers[at] as number);
  return sum >>> 0;
}

function mix(sum: number, word: number): number {
  const mixed = Math.imul(sum ^ word, MULTIPLIER);
  return (mixed << 13) | (mixed >>> 19);
}
