/**
 * Values that several datasets share: ids, names and times.
 */

import type { Random } from "./random.ts";
import { SAMPLE_PREFIX } from "./sample.ts";

/** No date of today, so that a dataset is the same tomorrow. */
const START_MS: number = Date.UTC(2026, 0, 5, 8);
const MINUTE_MS = 60_000;

const FIRST_NAMES = ["Ada", "Ben", "Chioma", "Dmitri", "Elif", "Fatou", "Grace", "Hugo"] as const;
const LAST_NAMES = [
  "Abebe",
  "Berg",
  "Costa",
  "Diaz",
  "Eriksen",
  "Fischer",
  "Gupta",
  "Haddad",
] as const;
const CITIES = ["Accra", "Bergen", "Cork", "Dakar", "Essen", "Fukuoka", "Ghent", "Hobart"] as const;

/** Such as `demo-task-00042`. */
export function sampleId(kind: string, number: number): string {
  return `${SAMPLE_PREFIX}${kind}-${String(number).padStart(5, "0")}`;
}

export function personName(random: Random): string {
  return `${random.one(FIRST_NAMES)} ${random.one(LAST_NAMES)}`;
}

export function city(random: Random): string {
  return random.one(CITIES);
}

/** A time so many minutes after the beginning, in ISO 8601. */
export function timeAt(minutes: number): string {
  return new Date(START_MS + minutes * MINUTE_MS).toISOString();
}
