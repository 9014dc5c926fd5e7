/**
 * Init: what apps call before they open an instance. There is nothing to load.
 */

import type { AnyValue } from "./any-value.ts";

export type InitOptions = {
  /** Not used: there is no WebAssembly. */
  webAssemblyModule?: AnyValue;
};

/** Resolves at once. */
export async function init(_options: InitOptions = {}): Promise<void> {}
