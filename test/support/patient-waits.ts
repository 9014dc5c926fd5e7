/**
 * Patient waits: `vi.waitFor` gives up after a second, which a busy machine can take for anything. A
 * wait ends when what it waits for has come, so a longer limit costs nothing.
 */
import { vi } from "vitest";

const WAIT_MS = 30_000;

const waitFor = vi.waitFor.bind(vi);

vi.waitFor = (callback, options) =>
  waitFor(callback, {
    timeout: WAIT_MS,
    ...(typeof options === "number" ? { timeout: options } : options),
  });
