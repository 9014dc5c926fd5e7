/**
 * Time zones: the offset of a place at a moment, and the moment that a clock there shows.
 *
 * A zone is an offset (`+02:00`, `Z`) or a name that the host's tables know (`Europe/Paris`). Offsets
 * are whole minutes, as in the text of a date. Those of old local times, which had seconds, are
 * rounded, so that a text and the moment it stands for always agree.
 */

import { BoundedCache } from "../bounded-cache.ts";
import { spend } from "../value/effort.ts";
import { DAY_MS } from "./calendar.ts";
import { isInTime, type Moment, UNIT_MS } from "./moment.ts";

export interface Zone {
  readonly name: string;
  /** Minutes east of UTC at a moment, given in milliseconds since 1970. */
  offsetAt(ms: number): number;
}

const ZONES_KEPT = 64;
const NAME_LENGTH_MAX = 64;

const OFFSET = /^([+-])(\d\d)(?::?(\d\d))?$/;
const NAME = /^[A-Za-z][\w+/-]*$/;
/** How the host shows an offset; nothing after GMT is zero. */
const SHOWN_OFFSET = /GMT(?:([+-])(\d\d):(\d\d)(?::(\d\d))?)?$/;

const kept = new BoundedCache<string, Zone | undefined>(ZONES_KEPT);

/** The zone of an offset or a name. */
export function findZone(text: string): Zone | undefined {
  if (text.length > NAME_LENGTH_MAX) return undefined;
  const offset = parseOffset(text);
  if (offset !== undefined) return { name: formatOffset(offset), offsetAt: () => offset };
  return NAME.test(text) ? kept.obtain(text, namedZone) : undefined;
}

/** The zone of minutes east of UTC, fewer than a day. */
export function offsetZone(minutes: number): Zone | undefined {
  if (Math.abs(minutes) >= MINUTES_OF_DAY) return undefined;
  return { name: formatOffset(minutes), offsetAt: () => minutes };
}

const MINUTES_OF_DAY = 24 * 60;

/** The minutes of `Z`, `+02:00`, `+0200` or `+02`. */
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
 * The moment at which clocks of the zone show this time, given as if it were at UTC. A time that is
 * shown twice, when clocks go back, means the first of the two. A time that is skipped, when clocks
 * go forward, means what the clock would have shown without the change: so much later.
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

/** What it counts to make a zone ready. */
const MAKING_STEPS = 256;

function namedZone(name: string): Zone | undefined {
  spend(MAKING_STEPS);
  const format = offsetFormat(name);
  if (format === undefined) return undefined;
  const known = format.resolvedOptions().timeZone;
  return {
    // Another spelling of the name is put right, another name of the place is kept.
    name: known.toLowerCase() === name.toLowerCase() ? known : name,
    offsetAt: (ms) => shownOffset(format.format(ms)),
  };
}

function offsetFormat(timeZone: string): Intl.DateTimeFormat | undefined {
  try {
    return new Intl.DateTimeFormat("en-US", { timeZone, timeZoneName: "longOffset" });
  } catch (error) {
    // The one way to ask whether a name is known.
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

function shownOffset(text: string): number {
  const [, sign, hours = 0, minutes = 0, seconds = 0] = SHOWN_OFFSET.exec(text) ?? [];
  const exact = Number(hours) * 60 + Number(minutes) + Number(seconds) / 60;
  return signed(sign, Math.round(exact));
}

/** Never -0, which is no offset. */
function signed(sign: string | undefined, minutes: number): number {
  return sign === "-" ? 0 - minutes : minutes;
}
