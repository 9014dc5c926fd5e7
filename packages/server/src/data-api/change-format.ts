/**
 * Change format: how lines of changes and markers go over the wire: as Server-Sent Events, or as
 * JSON in lines.
 */

import type { FeedLine } from "@bigpeer/engine/changes";

export interface ChangeFormat {
  readonly contentType: string;
  /** At least one line, as bytes. Streams that send the same lines one after the other share them. */
  encode(lines: readonly FeedLine[]): Buffer;
  /** A marker, an object as JSON, at a position. */
  marker(json: string, cursor: string): Buffer;
}

/** Consecutive lines of a group of readers, as bytes. */
interface EncodedLines {
  readonly first: FeedLine | undefined;
  readonly count: number;
  readonly bytes: Buffer;
}

/**
 * How many are kept. The readers of a group are woken together, so the last ones are enough. With
 * each line that is kept for late readers they would be far more bytes than the line itself.
 */
const ENCODED_MAX = 32;

function formatOf(
  contentType: string,
  frame: (json: string, cursor: string) => string,
): ChangeFormat {
  const recent = new Map<FeedLine | undefined, EncodedLines>();
  return {
    contentType,
    encode: (lines) => {
      const [first, last, count] = [lines[0], lines.at(-1), lines.length];
      const known = recent.get(last);
      if (known !== undefined && known.first === first && known.count === count) return known.bytes;
      const bytes = Buffer.from(lines.map(({ json, cursor }) => frame(json, cursor)).join(""));
      recent.delete(last);
      recent.set(last, { first, count, bytes });
      for (const oldest of recent.keys()) {
        if (recent.size <= ENCODED_MAX) break;
        recent.delete(oldest);
      }
      return bytes;
    },
    marker: (json, cursor) => Buffer.from(frame(json, cursor)),
  };
}

export const EVENTS: ChangeFormat = formatOf(
  "text/event-stream; charset=utf-8",
  (json, cursor) => `id: ${cursor}\ndata: ${json}\n\n`,
);

export const LINES: ChangeFormat = formatOf(
  "application/x-ndjson; charset=utf-8",
  (json, cursor) => `${json.slice(0, -1)},"cursor":"${cursor}"}\n`,
);

const LINE_TYPES = /^application\/(?:x-)?(?:ndjson|jsonl|json-?lines)$/;

/** Events, unless the client prefers lines. */
export function chooseChangeFormat(accept: string | undefined): ChangeFormat {
  let best = { format: EVENTS, quality: 0 };
  for (const part of (accept ?? "").split(",")) {
    const [type = "", ...parameters] = part.split(";").map((text) => text.trim().toLowerCase());
    const given = parameters.find((text) => text.startsWith("q="));
    const quality = given === undefined ? 1 : Number(given.slice(2));
    const format = LINE_TYPES.test(type)
      ? LINES
      : type === "text/event-stream"
        ? EVENTS
        : undefined;
    if (format !== undefined && quality > best.quality) best = { format, quality };
  }
  return best.format;
}
