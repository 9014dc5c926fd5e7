/**
 * No simple states: takes the place of simple-state.ts in the worker of browsers, whose size is
 * bounded. There these writes are merged, with the same result.
 */
export { plainWrite as simpleWrite } from "./plain-state.ts";
