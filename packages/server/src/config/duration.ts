/**
 * Duration: reads a time such as `90`, `15m`, `6h` or `1d`; a number alone is seconds.
 */

const UNIT_MS: Readonly<Record<string, number>> = {
  "": 1_000,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

/** In milliseconds; undefined if the text is no duration. */
export function readDuration(text: string): number | undefined {
  const [, digits, unit = ""] = /^(\d{1,9})([smhd]?)$/.exec(text) ?? [];
  const unitMs = UNIT_MS[unit];
  return digits === undefined || unitMs === undefined ? undefined : Number(digits) * unitMs;
}
