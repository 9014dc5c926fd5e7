/**
 * Documents of other databases: rows of CouchDB's `_all_docs?include_docs=true`, and the extended
 * JSON of mongoexport.
 */

import { isArray, isObject, type Value, type ValueObject } from "@bigpeer/protocol";

/** The document of a row; undefined for one that is deleted, or holds code of the database. */
export function couchDocument(row: ValueObject): ValueObject | undefined {
  const { doc } = row;
  if (!isDocument(doc) || doc["_deleted"] === true) return undefined;
  const { _rev, _attachments, _conflicts, ...document } = doc;
  const id = document["_id"];
  return typeof id === "string" && id.startsWith("_design/") ? undefined : document;
}

function isDocument(value: Value | undefined): value is ValueObject {
  return value !== undefined && isObject(value);
}

/** Whether a value of mongoexport, such as `{"$date": …}`, is anywhere in a value. */
export function hasMongoValue(value: Value): boolean {
  if (isArray(value)) return value.some(hasMongoValue);
  if (!isObject(value)) return false;
  return plainValue(value) !== undefined || Object.values(value).some(hasMongoValue);
}

/** Undefined for an object that is no value of mongoexport. */
function plainValue(value: ValueObject): Value | undefined {
  const [name = "", ...others] = Object.keys(value);
  if (others.length > 0 || !Object.hasOwn(PLAIN, name)) return undefined;
  return PLAIN[name]?.(value[name] as Value);
}

/** Values with `$oid`, `$date`, `$numberLong` and the like become plain ones. */
export function mongoValue(value: Value): Value {
  if (isArray(value)) return value.map(mongoValue);
  if (!isObject(value)) return value;
  const plain = plainValue(value);
  if (plain !== undefined) return plain;
  const entries = Object.entries(value).map(([field, each]) => [field, mongoValue(each)] as const);
  return Object.fromEntries(entries);
}

const INT64_MAX = 2n ** 63n - 1n;

function integer(value: Value): Value | undefined {
  if (typeof value !== "string" || !/^-?\d{1,19}$/.test(value)) return undefined;
  const number = BigInt(value);
  if (number > INT64_MAX || number < -INT64_MAX - 1n) return undefined;
  return Number.isSafeInteger(Number(number)) ? Number(number) : number;
}

function decimal(value: Value): Value | undefined {
  return typeof value === "string" && value.trim() !== "" ? Number(value) : undefined;
}

const PLAIN: Readonly<Record<string, (value: Value) => Value | undefined>> = {
  $oid: (value) => value,
  $uuid: (value) => value,
  $symbol: (value) => value,
  $numberInt: integer,
  $numberLong: integer,
  $numberDouble: decimal,
  // More digits than a number has stay text.
  $numberDecimal: (value) => {
    const number = Number(value);
    return String(number) === value ? number : value;
  },
  $date: (value) => {
    if (!isObject(value)) return value;
    const ms = integer(value["$numberLong"] ?? null);
    return typeof ms === "number" ? new Date(ms).toISOString() : undefined;
  },
  $binary: (value) => {
    const text = isObject(value) ? value["base64"] : value;
    return typeof text === "string" ? new Uint8Array(Buffer.from(text, "base64")) : undefined;
  },
};
