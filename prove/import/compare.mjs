/**
 * Compares files of documents.
 */
import { createReadStream, openSync, readdirSync, readFileSync, readSync, statSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { isDeepStrictEqual } from "node:util";

const BLOCK = 1 << 20;

/** Returns a sentence about the first difference; undefined if the bytes are the same. */
export function differenceOfFiles(one, other) {
  const sizes = [one, other].map((path) => statSync(path).size);
  if (sizes[0] !== sizes[1]) return `${one} has ${sizes[0]} bytes, ${other} has ${sizes[1]}`;
  const [first, second] = [one, other].map((path) => openSync(path, "r"));
  const [left, right] = [Buffer.alloc(BLOCK), Buffer.alloc(BLOCK)];
  for (let at = 0; at < sizes[0]; at += BLOCK) {
    const length = readSync(first, left, 0, BLOCK, at);
    readSync(second, right, 0, BLOCK, at);
    if (left.compare(right, 0, length, 0, length) !== 0)
      return `${one} and ${other} differ after ${at} bytes`;
  }
  return undefined;
}

/** Of files with a document in each line, in the same order. The order of fields does not matter. */
export async function differenceOfDocuments(sources, exported) {
  const lines = createInterface({ input: createReadStream(exported) })[Symbol.asyncIterator]();
  let number = 0;
  for (const source of sources) {
    for await (const line of createInterface({ input: createReadStream(source) })) {
      number++;
      const { value = "", done } = await lines.next();
      if (done) return `${exported} has ${number - 1} documents`;
      if (line !== value && !isDeepStrictEqual(JSON.parse(line), JSON.parse(value))) {
        return `document ${number} of ${exported} is ${value}, expected ${line}`;
      }
    }
  }
  return (await lines.next()).done ? undefined : `${exported} has more than ${number} documents`;
}

export function differenceOfFolders(one, other) {
  const [names, others] = [one, other].map((folder) => readdirSync(folder).toSorted());
  if (!isDeepStrictEqual(names, others)) return `${one} has ${names}, ${other} has ${others}`;
  const differing = names.find((name) => {
    return !readFileSync(join(one, name)).equals(readFileSync(join(other, name)));
  });
  return differing === undefined ? undefined : `${differing} differs in ${one} and ${other}`;
}
