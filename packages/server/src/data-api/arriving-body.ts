/**
 * Arriving body: the body of an upload as it arrives, within a bound of size and a minimum rate
 * (H36).
 */

import type { Readable } from "node:stream";
import { Refusal } from "../http/refusal.ts";
import { UPLOAD_IDLE_MS_MAX, UPLOAD_RATE_MIN } from "../limits/limits.ts";
import { MinimumRate, type RateBounds } from "../limits/minimum-rate.ts";

export interface ArrivalBounds {
  /** Longest pause of a body, and its minimum rate. */
  readonly idleMsMax?: number;
  readonly rateMin?: RateBounds;
  /** Milliseconds of a monotonic clock. */
  readonly elapsed?: () => number;
  /** Called for each upload that is refused because of a limit, with its name. */
  readonly onRefused?: (bound: string) => void;
}

/**
 * Yields the body as it arrives. Only pauses of the client count, not a slow disk. Beyond `sizeMax`
 * bytes it throws `tooLarge()`.
 */
export async function* arrivingBody(
  body: Readable,
  { sizeMax, tooLarge }: { readonly sizeMax: number; readonly tooLarge: () => Error },
  bounds: ArrivalBounds,
): AsyncGenerator<Uint8Array> {
  const { idleMsMax = UPLOAD_IDLE_MS_MAX, rateMin = UPLOAD_RATE_MIN } = bounds;
  const { elapsed = () => performance.now() } = bounds;
  const rate = new MinimumRate(rateMin);
  const tooSlow = new Refusal(408, `expected the upload to go on within ${idleMsMax} ms`);
  const wait = (): NodeJS.Timeout => setTimeout(() => body.destroy(tooSlow), idleMsMax);
  let size = 0;
  let timer = wait();
  let sinceMs = elapsed();
  try {
    for await (const chunk of body as AsyncIterable<Uint8Array>) {
      clearTimeout(timer);
      size += chunk.length;
      if (size > sizeMax) throw tooLarge();
      if (!rate.note(elapsed() - sinceMs, chunk.length)) {
        bounds.onRefused?.("slow_upload");
        throw belowRate(rateMin);
      }
      yield chunk;
      timer = wait();
      sinceMs = elapsed();
    }
  } finally {
    clearTimeout(timer);
  }
}

function belowRate({ windowMs, bytes }: RateBounds): Refusal {
  return new Refusal(408, `expected at least ${bytes} bytes of the upload within ${windowMs} ms`);
}
