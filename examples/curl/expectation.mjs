/**
 * Compares an answer with the expected one. Both must have the same fields and values; the order of
 * the fields of an object does not matter.
 *
 * A placeholder such as `"<int>"` matches any value of that kind: `<any>`, `<string>`, `<int>`,
 * `<object>`, `<array>`. With a name, `"<int:$T>"`, it also stores the value, and `$T` inserts it in
 * later calls. A name that occurs twice in one answer must have the same value twice.
 */

const PLACEHOLDER = /^<(any|string|int|object|array)(?::\$([A-Z][A-Z0-9_]*))?>$/;
/** A variable, but not the name inside a placeholder, which receives a value. */
const VARIABLE = /(?<!<[a-z]+:)\$([A-Z][A-Z0-9_]*)/g;

const KINDS = {
  any: () => true,
  string: (value) => typeof value === "string",
  int: (value) => Number.isInteger(value),
  object: (value) => isObject(value),
  array: (value) => Array.isArray(value),
};

/** Replaces the variables of a text by their values, which `escape` converts for their place. */
export function fillIn(text, variables, escape = String) {
  return text.replaceAll(VARIABLE, (_, name) => {
    if (!variables.has(name)) throw new Error(`expected a call before this one that sets $${name}`);
    return escape(variables.get(name));
  });
}

/** Escapes a value for JSON: a number as it is, a text without the quotes around it. */
export function escapeJson(value) {
  return typeof value === "string" ? JSON.stringify(value).slice(1, -1) : JSON.stringify(value);
}

/** Lists the differences, one sentence each. `captured` receives the values of named placeholders. */
export function compare(expected, found, captured, place = "body") {
  const placeholder = typeof expected === "string" ? PLACEHOLDER.exec(expected) : null;
  if (placeholder !== null) return compareKind(placeholder, found, captured, place);
  if (Array.isArray(expected)) return compareArray(expected, found, captured, place);
  if (isObject(expected)) return compareObject(expected, found, captured, place);
  return Object.is(expected, found) ? [] : [differs(place, JSON.stringify(expected), found)];
}

function compareKind([whole, kind, name], found, captured, place) {
  if (found === undefined || !KINDS[kind](found)) return [differs(place, whole, found)];
  if (name === undefined) return [];
  if (captured.has(name)) return compare(captured.get(name), found, captured, place);
  captured.set(name, found);
  return [];
}

function compareArray(expected, found, captured, place) {
  if (!Array.isArray(found) || found.length !== expected.length) {
    return [differs(place, JSON.stringify(expected), found)];
  }
  return expected.flatMap((item, i) => compare(item, found[i], captured, `${place}[${i}]`));
}

function compareObject(expected, found, captured, place) {
  if (!isObject(found)) return [differs(place, JSON.stringify(expected), found)];
  const unexpected = Object.keys(found).filter((key) => !Object.hasOwn(expected, key));
  return [
    ...Object.keys(expected).flatMap((key) => {
      const value = Object.hasOwn(found, key) ? found[key] : undefined;
      return compare(expected[key], value, captured, `${place}.${key}`);
    }),
    ...unexpected.map((key) => differs(`${place}.${key}`, "nothing", found[key])),
  ];
}

function differs(place, expected, found) {
  return `${place}: expected ${expected}, found ${JSON.stringify(found) ?? "nothing"}`;
}

function isObject(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
