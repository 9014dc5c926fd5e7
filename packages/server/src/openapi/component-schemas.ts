/**
 * Component schemas: converts the schemas of the data API to components of the OpenAPI document. A
 * schema with a title is written once, under its title; everywhere else there is a reference.
 */

import {
  assert,
  isArray,
  isObject,
  type MutableObject,
  setField,
  type Value,
  type ValueObject,
} from "@bigpeer/protocol";
import type { TSchema } from "../validation/schema.ts";

/** Keywords whose value is a schema, a list of schemas, or schemas by name. */
const INNER_SCHEMA = new Set(["items"]);
const INNER_LIST = new Set(["anyOf"]);
const INNER_BY_NAME = new Set(["properties"]);

/** Pattern that the schema library writes for a record with arbitrary keys. */
const ANY_NAME = "^.*$";

/** Converts `schemas`, which have titles, and all schemas with a title inside them, by title. */
export function componentSchemas(schemas: readonly TSchema[]): ValueObject {
  const components: MutableObject = {};
  const refer = (schema: Value): Value => {
    if (!isObject(schema)) return schema;
    const { title } = schema;
    if (typeof title !== "string") return written(schema, refer);
    if (!Object.hasOwn(components, title)) {
      // Reserves the position, so that an outer schema comes before its parts.
      setField(components, title, true);
      setField(components, title, written(schema, refer));
    }
    return schemaReference(title);
  };
  for (const schema of schemas) refer(schema as Value);
  return components;
}

export function schemaReference(title: string): { readonly $ref: string } {
  return { $ref: `#/components/schemas/${title}` };
}

/** Converts a schema to OpenAPI, with `refer` applied to the schemas inside it. */
function written(schema: ValueObject, refer: (inner: Value) => Value): ValueObject {
  const result: MutableObject = {};
  for (const [keyword, value] of Object.entries(schema)) {
    if (keyword === "patternProperties" && isObject(value)) {
      setField(result, "additionalProperties", refer(value[ANY_NAME] as Value));
    } else if (keyword === "enum") {
      // Client generators expect the type, although the values imply it.
      setField(result, "type", "string");
      setField(result, "enum", value);
    } else if (keyword === "discriminator" && isObject(value)) {
      setField(result, keyword, { ...value, mapping: mappingOf(schema, value) });
    } else {
      setField(result, keyword, writtenInner(keyword, value, refer));
    }
  }
  return result;
}

function writtenInner(keyword: string, value: Value, refer: (inner: Value) => Value): Value {
  if (INNER_SCHEMA.has(keyword)) return refer(value);
  if (INNER_LIST.has(keyword) && isArray(value)) return value.map(refer);
  if (!INNER_BY_NAME.has(keyword) || !isObject(value)) return value;
  const result: MutableObject = {};
  for (const [name, inner] of Object.entries(value)) setField(result, name, refer(inner));
  return result;
}

/** Maps each value of the discriminator to its alternative. */
function mappingOf(schema: ValueObject, discriminator: ValueObject): ValueObject {
  const mapping: MutableObject = {};
  const name = textIn(discriminator, "propertyName");
  const alternatives = isArray(schema["anyOf"]) ? schema["anyOf"].filter(isObject) : [];
  for (const alternative of alternatives) {
    const { properties } = alternative;
    const field = isObject(properties) ? properties[name] : undefined;
    const { $ref } = schemaReference(textIn(alternative, "title"));
    setField(mapping, textIn(field, "const"), $ref);
  }
  return mapping;
}

function textIn(value: Value | undefined, name: string): string {
  const text = isObject(value) ? value[name] : undefined;
  assert(typeof text === "string", `expected ${name} in a schema that is named`);
  return text;
}
