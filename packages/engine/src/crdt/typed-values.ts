/**
 * Typed values: the visible fields of a document, each wrapped with its type, as
 * `latestValuesAndTypes` returns them: `{"register":{"value":…}}`, `{"counter":…}`, `{"map":…}`,
 * `{"attachment":…}`.
 *
 * Both kinds of counter are written as `counter`: clients know no other.
 */

import {
  isObject,
  type MutableObject,
  setField,
  type TypeMark,
  type Types,
  type Value,
  type ValueObject,
} from "@bigpeer/protocol";
import { markOf, type Shown } from "./show.ts";

export function typedFields(shown: Shown): ValueObject {
  return wrapFields(shown.fields, shown.types);
}

function wrapFields(fields: ValueObject, types: Types | undefined): ValueObject {
  const wrapped: MutableObject = {};
  for (const name of Object.keys(fields)) {
    setField(wrapped, name, wrap(fields[name] as Value, markOf(types, name)));
  }
  return wrapped;
}

function wrap(value: Value, mark: TypeMark | undefined): ValueObject {
  switch (mark) {
    case "counter":
    case "pn_counter":
      return { counter: { value } };
    case "attachment":
      return { attachment: { value } };
    case "register":
      return { register: { value } };
    default:
      if (!isObject(value)) return { register: { value } };
      return { map: { value: wrapFields(value, typeof mark === "object" ? mark : undefined) } };
  }
}
