/**
 * Fitting answers: limits the answers of all peers to what fits into one HTTP answer.
 *
 * An answer may take six times as much in JSON as on the wire. The largest answers are replaced by
 * an error, so that no peer can crowd out the others.
 */

import type { PeerAnswer, PeerReport } from "@bigpeer/engine/sync";
import { stringifyJson, type Value } from "@bigpeer/protocol";
import { LONG_WORK } from "../limits/loop-share.ts";

/** The answer of a peer and its report: that of the selection, if it left before it was asked. */
export type RemoteAnswer = PeerAnswer & { readonly report: PeerReport };

/** Bytes around the content of an answer: names of fields and numbers. */
const AROUND_SIZE = 512;

const TOO_LARGE = {
  code: "query.too_large",
  message: "the answers of all peers together are too large",
};

/** Keeps their order; `sizeMax` is for all of them as JSON. */
export async function fittingAnswers(
  answers: readonly RemoteAnswer[],
  sizeMax: number,
): Promise<RemoteAnswer[]> {
  const sizes: number[] = [];
  let left = sizeMax;
  let endMs = LONG_WORK.begin();
  for (const answer of answers) {
    const { description, identity } = answer.report;
    const { key, deviceName, metadata } = description;
    left -= sizeOf([key, deviceName, metadata, identity]) + AROUND_SIZE;
    let size = 0;
    for (const part of partsOf(answer)) {
      size += sizeOf(part) + 1;
      if (performance.now() < endMs) continue;
      endMs = await LONG_WORK.turn();
    }
    sizes.push(size);
  }
  const isKept = new Set<number>();
  const smallestFirst = Array.from(sizes.entries()).sort(([, a], [, b]) => a - b);
  for (const [i, size] of smallestFirst) {
    left -= size;
    if (left < 0) break;
    isKept.add(i);
  }
  return answers.map((answer, i) =>
    isKept.has(i) ? answer : { ...answer, items: [], warnings: [], error: TOO_LARGE },
  );
}

/** The parts of an answer whose size the peer decides. */
function* partsOf({ items, warnings, error }: RemoteAnswer): Iterable<Value> {
  yield* items;
  for (const { description, id = null } of warnings) yield [description, id];
  if (error !== undefined) yield [error.code, error.message];
}

function sizeOf(value: Value): number {
  return Buffer.byteLength(stringifyJson(value));
}
