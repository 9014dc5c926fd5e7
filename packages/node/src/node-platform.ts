/**
 * Node platform: the engine's Platform on Node: wall clock, random bytes, SHA-256, patterns.
 */

import { createHash, randomBytes } from "node:crypto";
import { setImmediate } from "node:timers/promises";
import type { Platform } from "@bigpeer/engine";
import { PLAN_EXPLAINER } from "@bigpeer/engine/explain";
import { PatternCompiler } from "@bigpeer/engine/pattern";

const patterns = new PatternCompiler();

export const nodePlatform: Platform = {
  now: () => Date.now(),
  elapsed: () => performance.now(),
  pause: () => setImmediate(),
  // Plain arrays: a Buffer is another class than the one that storage returns.
  random: (size) => new Uint8Array(randomBytes(size)),
  sha256: (bytes) => new Uint8Array(createHash("sha256").update(bytes).digest()),
  pattern: (source, flags) => patterns.compile(source, flags),
  explainer: () => PLAN_EXPLAINER,
};
