/**
 * Schema fault: finds the first place where a value does not match its schema, and describes it.
 *
 * It supports the part of JSON Schema that our schemas use. Of alternatives it reports on the one
 * that the discriminator selects, or on the first.
 */

import { getField, isArray, isObject, type Value } from "@bigpeer/protocol";

/** JSON Schema, as far as it is used here. */
export interface SchemaNode {
  readonly type?: string;
  readonly enum?: readonly string[];
  readonly const?: string;
  readonly anyOf?: readonly SchemaNode[];
  readonly discriminator?: { readonly propertyName: string };
  readonly properties?: Properties;
  readonly required?: readonly string[];
  readonly patternProperties?: Properties;
  /** False when fields other than those in `properties` are refused. */
  readonly additionalProperties?: boolean;
  readonly items?: SchemaNode;
  readonly maxItems?: number;
  readonly maxProperties?: number;
  readonly minimum?: number;
  readonly maximum?: number;
}

interface Properties {
  readonly [name: string]: SchemaNode;
}

/** Maximum characters of an unknown name in a message. */
const NAME_SHOWN_MAX = 100;

export interface SchemaFault {
  /** `expected …, found …`. */
  readonly message: string;
  readonly at: string;
}

/** Undefined when no fault is found. */
export function findFault(
  schema: SchemaNode,
  value: Value | undefined,
  at: string = "",
): SchemaFault | undefined {
  if (schema.anyOf !== undefined) return alternativeFault(schema, schema.anyOf, value, at);
  if (isFitting(schema, value)) {
    if (isObject(value)) return countFault(schema, value, at) ?? fieldFault(schema, value, at);
    if (isArray(value)) return countFault(schema, value, at) ?? elementFault(schema, value, at);
    return undefined;
  }
  if (at === "") return { message: mismatch(describe(schema), value), at: "the body" };
  return { message: fieldMismatch(describe(schema), value), at };
}

/** Message for a field that is missing or has the wrong type. */
export function fieldMismatch(expected: string, value: Value | undefined): string {
  if (value === undefined) return `missing required field: expected ${expected}`;
  return mismatch(expected, value);
}

function mismatch(expected: string, value: Value | undefined): string {
  return `expected ${expected}, found ${kindOf(value)}`;
}

function countFault(
  { maxItems = Infinity, maxProperties = Infinity }: SchemaNode,
  value: Value & object,
  at: string,
): SchemaFault | undefined {
  const isList = isArray(value);
  const count = isList ? value.length : Object.keys(value).length;
  const most = isList ? maxItems : maxProperties;
  if (count <= most) return undefined;
  const message = `expected at most ${most} ${isList ? "elements" : "fields"}, found ${count}`;
  return { message, at: at === "" ? "the body" : at };
}

function alternativeFault(
  { discriminator }: SchemaNode,
  alternatives: readonly SchemaNode[],
  value: Value | undefined,
  at: string,
): SchemaFault | undefined {
  const tag = discriminator?.propertyName;
  if (tag === undefined) {
    const faults = alternatives.map((one) => findFault(one, value, at));
    return faults.includes(undefined) ? undefined : faults[0];
  }
  if (!isObject(value)) return findFault({ type: "object" }, value, at);
  const tags = alternatives.map((one) => one.properties?.[tag]?.const ?? "");
  const given = getField(value, tag);
  const chosen = alternatives.find((_, i) => tags[i] === given);
  if (chosen === undefined) return findFault({ enum: tags }, given, join(at, tag));
  return findFault(chosen, value, at);
}

function fieldFault(
  schema: SchemaNode,
  value: { readonly [name: string]: Value },
  at: string,
): SchemaFault | undefined {
  const { properties = {}, required = [], patternProperties = {} } = schema;
  if (schema.additionalProperties === false) {
    const other = Object.keys(value).find((name) => !Object.hasOwn(properties, name));
    if (other !== undefined) return otherFieldFault(Object.keys(properties), other, at);
  }
  for (const name of Object.keys(properties)) {
    const field = getField(value, name);
    if (field === undefined && !required.includes(name)) continue;
    const fault = findFault(properties[name] as SchemaNode, field, join(at, name));
    if (fault !== undefined) return fault;
  }
  const [others] = Object.values(patternProperties);
  if (others === undefined) return undefined;
  for (const name of Object.keys(value)) {
    if (findFault(others, value[name], "") !== undefined) {
      return findFault(others, value[name], join(at, name));
    }
  }
  return undefined;
}

function otherFieldFault(known: readonly string[], other: string, at: string): SchemaFault {
  const fields = known.length === 0 ? "no fields" : `no other fields than ${known.join(", ")}`;
  return { message: `expected ${fields}`, at: join(at, other.slice(0, NAME_SHOWN_MAX)) };
}

function elementFault(
  { items }: SchemaNode,
  value: readonly Value[],
  at: string,
): SchemaFault | undefined {
  if (items === undefined) return undefined;
  for (let i = 0; i < value.length; i++) {
    // Paths are built only for faults: there may be many elements.
    if (findFault(items, value[i], "") !== undefined) {
      return findFault(items, value[i], `${at}[${i}]`);
    }
  }
  return undefined;
}

/** Whether the value itself matches, regardless of its content. */
function isFitting(schema: SchemaNode, value: Value | undefined): boolean {
  if (value === undefined) return false;
  if (schema.enum !== undefined) return schema.enum.some((one) => one === value);
  if (schema.const !== undefined) return schema.const === value;
  switch (schema.type) {
    case "object":
      return isObject(value);
    case "array":
      return isArray(value);
    case "null":
      return value === null;
    case "integer":
      return Number.isInteger(value) && isInRange(schema, value as number);
    case "string":
    case "boolean":
    case "number":
      return typeof value === schema.type;
    default:
      return true;
  }
}

function isInRange({ minimum, maximum }: SchemaNode, value: number): boolean {
  return value >= (minimum ?? -Infinity) && value <= (maximum ?? Infinity);
}

function describe(schema: SchemaNode): string {
  if (schema.enum !== undefined) return `one of ${schema.enum.join(", ")}`;
  if (schema.const !== undefined) return schema.const;
  switch (schema.type) {
    case "object":
      return "an object";
    case "array":
      return "an array";
    case "string":
      return "text";
    case "boolean":
      return "true or false";
    case "integer":
      return schema.minimum === undefined
        ? "an integer"
        : `an integer from ${schema.minimum} to ${schema.maximum}`;
    case "number":
      return "a number";
    case "null":
      return "null";
    default:
      return "a value";
  }
}

/** Describes the type of a value; shows short values. */
export function kindOf(value: Value | undefined): string {
  if (value === undefined) return "nothing";
  if (value === null) return "null";
  if (isArray(value)) return "an array";
  if (value instanceof Uint8Array) return "binary";
  switch (typeof value) {
    case "object":
      return "an object";
    case "string":
      return value.length <= 40 ? `"${value}"` : "a long text";
    case "boolean":
      return String(value);
    default:
      return `the number ${value}`;
  }
}

function join(at: string, name: string): string {
  return at === "" ? name : `${at}.${name}`;
}
