/**
 * A parameter of a statement as `name=value`. The value is JSON where it is, otherwise text.
 */

import { PeerError, parseJson, type Value } from "@bigpeer/protocol";
import { UsageError } from "../program/failure.ts";

/** Throws UsageError without a name. */
export function parameterOf(text: string): [string, Value] {
  const [, name = "", value = ""] = /^:?(\w+)\s*=([^]*)$/.exec(text.trim()) ?? [];
  if (name === "") throw new UsageError(`expected a parameter as name=value, found "${text}"`);
  return [name, valueOf(value.trim())];
}

/** JSON, or the text itself where it is no JSON. */
export function valueOf(text: string): Value {
  try {
    return parseJson(text);
  } catch (error) {
    if (error instanceof PeerError) return text;
    throw error;
  }
}
