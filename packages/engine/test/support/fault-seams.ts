/**
 * Seams for planted faults: functions of the query engine that a test puts something in front of. A test file
 * that wants to plant mocks their modules with what is here; nothing is changed until it plants.
 */

import type { allowedRanges, knownValuesOf } from "../../src/query/permission/rule-key.ts";
import type { chooseAccess, orderPaths } from "../../src/query/plan/access.ts";
import type { chooseFor } from "../../src/query/run/choose.ts";
import type { findDocuments } from "../../src/query/run/index-walk.ts";

interface Seams {
  readonly allowedRanges: typeof allowedRanges;
  readonly knownValuesOf: typeof knownValuesOf;
  readonly chooseAccess: typeof chooseAccess;
  readonly orderPaths: typeof orderPaths;
  readonly chooseFor: typeof chooseFor;
  readonly findDocuments: typeof findDocuments;
}

/** What stands in front of the real functions. */
export type Faulty = {
  readonly [K in keyof Seams]?: (original: Seams[K], ...args: Parameters<Seams[K]>) => unknown;
};

let planted: Faulty = {};

/** The function as it is, or as it was planted. */
export function seamOf<K extends keyof Seams>(name: K, original: Seams[K]): Seams[K] {
  const called = (...args: Parameters<Seams[K]>): unknown => {
    const fault = planted[name];
    const real = original as (...given: Parameters<Seams[K]>) => unknown;
    return fault === undefined ? real(...args) : fault(original, ...args);
  };
  return called as Seams[K];
}

/** Plants faults; returns what takes them out again. */
export function plantSeams(faulty: Faulty): () => void {
  planted = faulty;
  return () => {
    planted = {};
  };
}
