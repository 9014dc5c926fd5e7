/**
 * Durations: lengths of time as people write them, such as `1h30m`, counted in nanoseconds.
 *
 * A text has one or more parts, each a number with a unit, largest unit first by custom but not by
 * rule. What is written has no unit above hours, for days are not all of one length on a calendar.
 */

const HOUR = 3_600_000_000_000n;
const MINUTE = 60_000_000_000n;
const SECOND = 1_000_000_000n;
const MILLISECOND = 1_000_000n;
const MICROSECOND = 1000n;

const UNIT_NANOS: ReadonlyMap<string, bigint> = new Map([
  ["h", HOUR],
  ["m", MINUTE],
  ["s", SECOND],
  ["ms", MILLISECOND],
  ["us", MICROSECOND],
  // The sign for a millionth and the Greek letter look the same.
  ["\u00b5s", MICROSECOND],
  ["\u03bcs", MICROSECOND],
  ["ns", 1n],
]);

const PART = /(\d{1,18})(?:\.(\d{1,9}))?([a-z\u00b5\u03bc]{1,2})/y;

const TEXT_LENGTH_MAX = 100;

/** The nanoseconds of a duration, or undefined for what is none. */
export function parseDuration(text: string): bigint | undefined {
  if (text.length > TEXT_LENGTH_MAX) return undefined;
  const hasSign = text.startsWith("-") || text.startsWith("+");
  const body = hasSign ? text.slice(1) : text;
  const nanos = body === "0" ? 0n : sumOfParts(body);
  return nanos !== undefined && text.startsWith("-") ? -nanos : nanos;
}

function sumOfParts(text: string): bigint | undefined {
  if (text === "") return undefined;
  let nanos = 0n;
  let position = 0;
  while (position < text.length) {
    PART.lastIndex = position;
    const [part, whole = "", fraction = "", name = ""] = PART.exec(text) ?? [];
    const unit = UNIT_NANOS.get(name);
    if (part === undefined || unit === undefined) return undefined;
    nanos += BigInt(whole) * unit;
    if (fraction !== "") nanos += (BigInt(fraction) * unit) / 10n ** BigInt(fraction.length);
    position += part.length;
  }
  return nanos;
}

/** `1h30m0s`, or a unit below seconds for what is shorter than one. */
export function formatDuration(nanos: bigint): string {
  if (nanos < 0n) return `-${formatDuration(-nanos)}`;
  if (nanos === 0n) return "0s";
  if (nanos < MICROSECOND) return `${nanos}ns`;
  if (nanos < MILLISECOND) return `${decimal(nanos, MICROSECOND)}\u00b5s`;
  if (nanos < SECOND) return `${decimal(nanos, MILLISECOND)}ms`;
  const hours = nanos >= HOUR ? `${nanos / HOUR}h` : "";
  const minutes = nanos >= MINUTE ? `${(nanos % HOUR) / MINUTE}m` : "";
  return `${hours}${minutes}${decimal(nanos % MINUTE, SECOND)}s`;
}

/** So many units with all their decimals and no zero too many. */
function decimal(nanos: bigint, unit: bigint): string {
  const rest = nanos % unit;
  if (rest === 0n) return String(nanos / unit);
  const digits = String(unit + rest).slice(1);
  return `${nanos / unit}.${digits.replace(/0+$/, "")}`;
}
