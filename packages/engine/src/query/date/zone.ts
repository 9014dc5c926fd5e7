/**
 * Time zones: find the UTC offset of a zone at a moment, and the moment of a local time.
 *
 * A zone is an offset (`+02:00`, `Z`) or a name that the JavaScript runtime knows (`Europe/Paris`).
 * Offsets are whole minutes, as in the text of a date. Historical offsets with seconds are rounded,
 * so that a text and its moment always agree.
 */

import { BoundedCache } from "../bounded-cache.ts";
import { spend } from "../value/cost-meter.ts";
import { DAY_MS } from "./calendar.ts";
import { isInTime, type Moment, UNIT_MS } from "./moment.ts";

export interface Zone {
  readonly name: string;
  /** Minutes east of UTC at a time in milliseconds since 1970. */
  offsetAt(ms: number): number;
}

const ZONES_KEPT = 64;
const NAME_LENGTH_MAX = 64;

const OFFSET = /^([+-])(\d\d)(?::?(\d\d))?$/;
const NAME = /^[A-Za-z][\w+/-]*$/;
/** How the runtime prints an offset; GMT alone is zero. */
const SHOWN_OFFSET = /GMT(?:([+-])(\d\d):(\d\d)(?::(\d\d))?)?$/;

const kept = new BoundedCache<string, Zone | undefined>(ZONES_KEPT);

/** Finds the zone of an offset or a name. */
export function findZone(text: string): Zone | undefined {
  if (text.length > NAME_LENGTH_MAX) return undefined;
  const offset = parseOffset(text);
  if (offset !== undefined) return { name: formatOffset(offset), offsetAt: () => offset };
  return NAME.test(text) ? kept.obtain(text, namedZone) : undefined;
}

/** Zone at a fixed offset: minutes east of UTC, less than a day. */
export function offsetZone(minutes: number): Zone | undefined {
  if (Math.abs(minutes) >= MINUTES_OF_DAY) return undefined;
  return { name: formatOffset(minutes), offsetAt: () => minutes };
}

const MINUTES_OF_DAY = 24 * 60;

/** Parses minutes from `Z`, `+02:00`, `+0200` or `+02`. */
export function parseOffset(text: string): number | undefined {
  if (text === "Z" || text === "z") return 0;
  const found = OFFSET.exec(text);
  if (found === null) return undefined;
  const [, sign, hours, minutes = "0"] = found;
  if (Number(hours) > 23 || Number(minutes) > 59) return undefined;
  return signed(sign, Number(hours) * 60 + Number(minutes));
}

export function formatOffset(offset: number): string {
  const minutes = Math.abs(offset);
  const hour = String(Math.floor(minutes / 60)).padStart(2, "0");
  const minute = String(minutes % 60).padStart(2, "0");
  return `${offset < 0 ? "-" : "+"}${hour}:${minute}`;
}

/** The same point in time, shown in the zone. */
export function atZone(moment: Moment, zone: Zone): Moment {
  const { ms, nanos } = moment;
  return { ms, nanos, offset: zone.offsetAt(ms), zone: zone.name };
}

/**
 * Converts a local time of the zone, given as if it were UTC, to UTC. A time that occurs twice,
 * when clocks go back, means the first. A skipped time, when clocks go forward, is read with the
 * offset before the change, so it is later by the skipped time.
 */
export function msOfLocal(localMs: number, zone: Zone): number | undefined {
  // No zone changes twice in two days, so one of these two offsets is right.
  const before = offsetNear(localMs - DAY_MS, zone);
  const after = offsetNear(localMs + DAY_MS, zone);
  const ms = localMs - before * UNIT_MS.minute;
  const later = localMs - after * UNIT_MS.minute;
  const isRight = before === after || offsetNear(ms, zone) === before;
  const isLaterRight = !isRight && offsetNear(later, zone) === after;
  const found = isLaterRight ? later : ms;
  return isInTime(found) ? found : undefined;
}

function offsetNear(ms: number, zone: Zone): number {
  return isInTime(ms) ? zone.offsetAt(ms) : 0;
}

/** Cost of creating a named zone, in steps. */
const MAKING_STEPS = 256;

function namedZone(name: string): Zone | undefined {
  spend(MAKING_STEPS);
  const format = offsetFormat(name);
  if (format === undefined) return undefined;
  const known = format.resolvedOptions().timeZone;
  return {
    // Corrects the case of the name, but keeps an alias of the place.
    name: known.toLowerCase() === name.toLowerCase() ? known : name,
    offsetAt: (ms) => shownOffset(format.format(ms)),
  };
}

function offsetFormat(timeZone: string): Intl.DateTimeFormat | undefined {
  try {
    return new Intl.DateTimeFormat("en-US", { timeZone, timeZoneName: "longOffset" });
  } catch (error) {
    // The only way to find out whether the runtime knows a name.
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

function shownOffset(text: string): number {
  const [, sign, hours = 0, minutes = 0, seconds = 0] = SHOWN_OFFSET.exec(text) ?? [];
  const exact = Number(hours) * 60 + Number(minutes) + Number(seconds) / 60;
  return signed(sign, Math.round(exact));
}

/** Applies the sign; never returns -0. */
function signed(sign: string | undefined, minutes: number): number {
  return sign === "-" ? 0 - minutes : minutes;
}
