/**
 * Schemas of the OpenAPI document, checked by a validator that is not ours.
 */

import {
  isArray,
  isObject,
  type MutableObject,
  setField,
  type Value,
  type ValueObject,
} from "@bigpeer/protocol";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";

const BASE = "document";

/** Keywords of OpenAPI that say nothing about a value. */
const OPENAPI_KEYWORDS = ["components", "discriminator"];

/** Formats that say how a number or a text is to be held, not what it looks like. */
const FORMATS = { int32: true, int64: true, binary: true } as const;

export interface SchemaCheckerOptions {
  /** Whether objects may have only the fields that their schema names. */
  readonly isClosed: boolean;
}

export class SchemaChecker {
  readonly #ajv = new Ajv2020({ strict: true, allErrors: true, formats: FORMATS });
  readonly #validators = new Map<string, ValidateFunction>();
  readonly #isClosed: boolean;

  /** `document` is where references lead to. */
  constructor(document: ValueObject, { isClosed }: SchemaCheckerOptions) {
    this.#isClosed = isClosed;
    this.#ajv.addVocabulary(OPENAPI_KEYWORDS);
    const { schemas } = document["components"] as { readonly schemas: Value };
    this.#ajv.addSchema({ $id: BASE, components: { schemas: this.#own(schemas) } });
  }

  /** What is wrong with the value, a sentence for each fault. Throws when the schema is none. */
  faults(schema: ValueObject, value: Value): string[] {
    const validate = this.#validator(JSON.stringify(this.#own(schema)));
    if (validate(withNumbers(value))) return [];
    return (validate.errors ?? []).map(({ instancePath, message, params }) => {
      return `${instancePath || "/"}: ${message} ${JSON.stringify(params)}`;
    });
  }

  #validator(text: string): ValidateFunction {
    const known = this.#validators.get(text);
    if (known !== undefined) return known;
    const schema = JSON.parse(text.replaceAll('"#/components/', `"${BASE}#/components/`)) as object;
    const validate = this.#ajv.compile(schema);
    this.#validators.set(text, validate);
    return validate;
  }

  #own(schema: Value): Value {
    return this.#isClosed ? closed(schema) : schema;
  }
}

function closed(schema: Value): Value {
  if (isArray(schema)) return schema.map(closed);
  if (!isObject(schema)) return schema;
  const result = mapFields(schema, closed);
  const isOpenObject = schema["type"] === "object" && schema["additionalProperties"] === undefined;
  return isOpenObject ? { ...result, additionalProperties: false } : result;
}

/** The validator knows no bigint; that a number of 64 bits loses digits here changes nothing. */
function withNumbers(value: Value): Value {
  if (typeof value === "bigint") return Number(value);
  if (isArray(value)) return value.map(withNumbers);
  return isObject(value) ? mapFields(value, withNumbers) : value;
}

function mapFields(object: ValueObject, change: (value: Value) => Value): ValueObject {
  const result: MutableObject = {};
  for (const [name, value] of Object.entries(object)) setField(result, name, change(value));
  return result;
}
