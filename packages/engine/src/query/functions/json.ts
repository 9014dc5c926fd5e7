/**
 * JSON functions: serialize_json and deserialize_json convert between values and JSON text.
 */

import { MISSING } from "../value/datum.ts";
import { readJson, writeJson } from "../value/json-text.ts";
import { mismatch } from "../value/mismatch.ts";
import type { FunctionSpec } from "./function.ts";
import { chargeCopy } from "./growth.ts";

/** Memory that one character of JSON can become: `[]` has two, and becomes an array. */
const BYTES_PER_CHARACTER = 8;

/** The reader charges longer text while it parses. */
const COUNTED_LENGTH = 1024;

export const JSON_FUNCTIONS: readonly FunctionSpec[] = [
  {
    name: "serialize_json",
    arity: [1, 1],
    nulls: "see",
    apply: ([datum], run) => (datum === MISSING ? MISSING : writeJson(datum, run.budget)),
  },
  {
    name: "deserialize_json",
    arity: [1, 1],
    nulls: "pass",
    apply: ([text], run) => {
      if (typeof text !== "string") return mismatch("JSON text", text);
      chargeCopy(run, Math.min(text.length, COUNTED_LENGTH) * BYTES_PER_CHARACTER);
      return readJson(text, run.budget);
    },
  },
];
