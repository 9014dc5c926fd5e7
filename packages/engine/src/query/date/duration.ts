/**
 * Durations: parses and formats lengths of time such as `1h30m`, in nanoseconds.
 *
 * A text has hours, minutes and seconds in this order, each at most once. Only seconds may have a
 * fraction, or no unit. After a larger unit there are fewer than 60 of the next, and no unit in
 * between is skipped. Formatted text has no unit above hours, because days on a calendar differ in
 * length.
 */

const HOUR = 3_600_000_000_000n;
const MINUTE = 60_000_000_000n;
const SECOND = 1_000_000_000n;

const TEXT = /^[+-]?(?:(\d{1,18})h)?(?:(\d{1,18})m)?(?:(\d{1,18})(?:\.(\d{1,18}))?s?)?$/;

const TEXT_LENGTH_MAX = 100;

/** Units in which a duration can be given as a number. */
const UNIT_NANOS: ReadonlyMap<string, bigint> = new Map([
  ["sec", SECOND],
  ["second", SECOND],
  ["seconds", SECOND],
  ["ms", 1_000_000n],
  ["millis", 1_000_000n],
  ["millisecond", 1_000_000n],
  ["milliseconds", 1_000_000n],
  ["us", 1000n],
  ["micros", 1000n],
  ["microsecond", 1000n],
  ["microseconds", 1000n],
  ["ns", 1n],
  ["nanos", 1n],
  ["nanosecond", 1n],
  ["nanoseconds", 1n],
]);

export const SECOND_NANOS: bigint = SECOND;
export const MILLISECOND_NANOS: bigint = 1_000_000n;

/** Nanoseconds of a unit, in any letter case. */
export function findDurationUnit(name: string): bigint | undefined {
  return UNIT_NANOS.get(name.toLowerCase());
}

/** Parses nanoseconds; undefined for invalid text. Finer digits are cut off. */
export function parseDuration(text: string): bigint | undefined {
  const found = text.length > TEXT_LENGTH_MAX ? null : TEXT.exec(text);
  if (found === null) return undefined;
  const [, hours, minutes, seconds, fraction = ""] = found;
  if (hours !== undefined && minutes === undefined && seconds !== undefined) return undefined;
  if (hours !== undefined && Number(minutes ?? 0) > 59) return undefined;
  if (minutes !== undefined && Number(seconds ?? 0) > 59) return undefined;
  const nanos =
    BigInt(hours ?? 0) * HOUR +
    BigInt(minutes ?? 0) * MINUTE +
    BigInt(seconds ?? 0) * SECOND +
    BigInt(fraction.slice(0, 9).padEnd(9, "0"));
  return text.startsWith("-") ? -nanos : nanos;
}

/** Formats nanoseconds as `1h30m0s`; seconds have as many decimals as needed. */
export function formatDuration(nanos: bigint): string {
  if (nanos < 0n) return `-${formatDuration(-nanos)}`;
  const hours = nanos >= HOUR ? `${nanos / HOUR}h` : "";
  const minutes = nanos >= MINUTE ? `${(nanos % HOUR) / MINUTE}m` : "";
  return `${hours}${minutes}${inSeconds(nanos % MINUTE)}s`;
}

/** Seconds with all decimals and no trailing zeros. */
function inSeconds(nanos: bigint): string {
  const rest = nanos % SECOND;
  if (rest === 0n) return String(nanos / SECOND);
  const digits = String(SECOND + rest).slice(1);
  return `${nanos / SECOND}.${digits.replace(/0+$/, "")}`;
}
