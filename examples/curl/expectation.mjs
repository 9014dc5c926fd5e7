/**
 * Compares what came back with what an example states. Everything must be as stated, with no field more
 * and none less; the order of the fields of an object does not matter.
 *
 * A text such as `"<int>"` stands for any value of that kind: `<any>`, `<string>`, `<int>`, `<object>`,
 * `<array>`. With a name, `"<int:$T>"`, the value is kept, and `$T` stands for it in the calls that follow; twice
 * in one answer, it must be twice the same value.
 */

const PLACEHOLDER = /^<(any|string|int|object|array)(?::\$([A-Z][A-Z0-9_]*))?>$/;
/** Not the name inside a placeholder: there a value comes in. */
const VARIABLE = /(?<!<[a-z]+:)\$([A-Z][A-Z0-9_]*)/g;

const KINDS = {
  any: () => true,
  string: (value) => typeof value === "string",
  int: (value) => Number.isInteger(value),
  object: (value) => isObject(value),
  array: (value) => Array.isArray(value),
};

/** The text with the values of its variables. `escape` fits a value into where it stands. */
export function fillIn(text, variables, escape = String) {
  return text.replaceAll(VARIABLE, (_, name) => {
    if (!variables.has(name)) throw new Error(`expected a call before this one that sets $${name}`);
    return escape(variables.get(name));
  });
}

/** For a value inside JSON: a number as it is, a text without the quotes around it. */
export function escapeJson(value) {
  return typeof value === "string" ? JSON.stringify(value).slice(1, -1) : JSON.stringify(value);
}

/** What differs, one sentence each. `captured` receives the values that placeholders name. */
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
