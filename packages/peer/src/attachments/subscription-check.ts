/**
 * Subscription check: the options of a subscription, which are all about attachments.
 */

import { PeerError } from "@bigpeer/protocol";
import { describe, kindOf } from "../argument-check.ts";

/** Whether a subscription brings its attachments along. */
export function isPrefetching(options: unknown): boolean {
  const { prefetch, ...others } = (options ?? {}) as Readonly<Record<string, unknown>>;
  const [other] = Object.keys(others);
  if (typeof options !== "object" || options === null || other !== undefined) {
    const found = other === undefined ? kindOf(options) : describe(other);
    const message = `expected { prefetch } as the options of a subscription, found ${found}`;
    throw new PeerError("config.invalid", message);
  }
  if (prefetch === undefined || typeof prefetch === "boolean") return prefetch === true;
  const message = `expected true or false as prefetch, found ${kindOf(prefetch)}`;
  throw new PeerError("config.invalid", message);
}
