/**
 * Return delay: the time that a server which stops asks a peer to wait before it reconnects (S6).
 *
 * Each peer gets a random time of its own. Thousands of peers that all lost their connection at the
 * same moment then return one after the other, not all at once.
 */

import type { Platform } from "../../platform.ts";

/** A server that restarts needs a second or so. */
const RETURN_MS_MIN = 1000;

const RETURN_SPREAD_MS = 5000;

/** A uniform random time from 1 to 6 s. */
export function returnDelayMs(platform: Pick<Platform, "random">): number {
  const [high = 0, low = 0] = platform.random(2);
  return RETURN_MS_MIN + Math.floor(((high * 256 + low) / 65_536) * RETURN_SPREAD_MS);
}
