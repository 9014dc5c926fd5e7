/**
 * Makes the types of `@bigpeer/client` from the OpenAPI documents of the two APIs, which the server
 * makes from the schemas that check its requests:
 *
 *   npm run build && node scripts/client-schemas.mjs
 *
 * A schema with a name becomes a type of that name, and `Operations` has for each operation its
 * parameters, its body and its answer. A test fails while the files are not up to date.
 */
import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const LINE_MAX = 100;

/** The files below packages/client/src/generated, with what they describe. */
export const GENERATED = [
  { file: "data-api.ts", about: "the data API" },
  { file: "management-api.ts", about: "the management API" },
];

/** The text of a file of types. */
export function typesOf(document, about) {
  const { schemas } = document.components;
  const parts = [
    `/**\n * Types of ${about}. scripts/client-schemas.mjs makes this file from the OpenAPI document.\n */\n`,
    ...Object.entries(schemas).map(([name, schema]) => namedType(name, schema)),
    operationsType(document),
  ];
  return parts.join("\n");
}

function namedType(name, schema) {
  const head = `export type ${name} =`;
  return `${comment(schema.description, "")}${assigned(head, schema, "")};\n`;
}

/** `head` and the type after it, broken into lines as the formatter does. */
function assigned(head, schema, indent) {
  const line = `${head} ${typeOf(schema, indent)}`;
  const alternatives = alternativesOf(schema);
  const isLong = indent.length + line.length + 1 > LINE_MAX;
  if (alternatives === undefined || !isLong || line.includes("{\n")) return line;
  const inner = `${indent}  `;
  return [head, ...alternatives.map((one) => `${inner}| ${typeOf(one, inner)}`)].join("\n");
}

function alternativesOf(schema) {
  if (schema.enum !== undefined) return schema.enum.map((value) => ({ const: value }));
  return schema.anyOf?.flatMap((one) => alternativesOf(one) ?? [one]);
}

function typeOf(schema, indent) {
  if (schema.$ref !== undefined) return schema.$ref.split("/").at(-1);
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  const alternatives = alternativesOf(schema);
  if (alternatives !== undefined) {
    return alternatives.map((one) => typeOf(one, indent)).join(" | ");
  }
  switch (schema.type) {
    case "string":
    case "boolean":
    case "null":
      return schema.type;
    case "integer":
    case "number":
      return "number";
    case "array":
      return arrayType(schema.items, indent);
    case "object":
      return objectType(schema, indent);
    default:
      return "unknown";
  }
}

function arrayType(items, indent) {
  const inner = typeOf(items, indent);
  return alternativesOf(items) === undefined ? `readonly ${inner}[]` : `readonly (${inner})[]`;
}

function objectType({ properties, required = [], additionalProperties }, indent) {
  if (properties === undefined) {
    const value = additionalProperties ?? true;
    const inner = value === true ? "unknown" : typeOf(value, indent);
    return `{ readonly [name: string]: ${inner} }`;
  }
  const inner = `${indent}  `;
  const lines = Object.entries(properties).map(([name, schema]) => {
    const isRequired = required.includes(name);
    const head = `readonly ${name}${isRequired ? "" : "?"}:`;
    const field = isRequired ? schema : optional(schema);
    return `${comment(descriptionOf(schema), inner)}${inner}${assigned(head, field, inner)};\n`;
  });
  return `{\n${lines.join("")}${indent}}`;
}

/** A field that may be null has its description inside. */
function descriptionOf({ description, anyOf }) {
  return description ?? anyOf?.find((one) => one.description !== undefined)?.description;
}

/** An optional field may also be undefined: callers pass on what they may not have. */
function optional(schema) {
  const type = typeOf(schema, "");
  if (type === "unknown") return schema;
  const alternatives = alternativesOf(schema) ?? [schema];
  return { anyOf: [...alternatives, { $ref: "undefined" }] };
}

function comment(text, indent) {
  if (text === undefined) return "";
  const line = `${indent}/** ${text} */\n`;
  if (line.length <= LINE_MAX + 1) return line;
  const lines = [];
  let last = "";
  for (const word of text.split(" ")) {
    if (`${indent} * ${last} ${word}`.length > LINE_MAX) {
      lines.push(last);
      last = word;
    } else {
      last = last === "" ? word : `${last} ${word}`;
    }
  }
  lines.push(last);
  return `${indent}/**\n${lines.map((one) => `${indent} * ${one}\n`).join("")}${indent} */\n`;
}

/** For each operation its query parameters, its body in JSON, and its answer in JSON. */
function operationsType({ paths }) {
  const operations = Object.values(paths).flatMap((item) => Object.values(item));
  const properties = operations.map((operation) => {
    const { operationId, parameters = [], requestBody, responses } = operation;
    const query = parameters.filter((parameter) => parameter.in === "query");
    const request = requestBody?.content["application/json"]?.schema;
    const response = responses[200].content?.["application/json"]?.schema;
    const parts = {
      ...(query.length > 0 && { query: queryType(query) }),
      ...(request && { request }),
      ...(response && { response }),
    };
    return [operationId, { type: "object", properties: parts, required: Object.keys(parts) }];
  });
  const schema = {
    description: "What each operation takes and answers, as far as it is JSON.",
    type: "object",
    properties: Object.fromEntries(properties),
    required: properties.map(([name]) => name),
  };
  return namedType("Operations", schema).replaceAll("{\n  }", "{}");
}

function queryType(parameters) {
  return {
    type: "object",
    properties: Object.fromEntries(
      parameters.map(({ name, schema, description }) => [name, { ...schema, description }]),
    ),
    required: parameters.filter(({ required }) => required === true).map(({ name }) => name),
  };
}

async function main() {
  const server = new URL("../packages/server/dist/openapi/", import.meta.url);
  const { openApiDocument } = await import(new URL("openapi.js", server));
  const { managementDocument } = await import(new URL("management-document.js", server));
  const documents = [openApiDocument({ version: "" }), managementDocument({ version: "" })];
  const folder = new URL("../packages/client/src/generated/", import.meta.url);
  for (const [i, { file, about }] of GENERATED.entries()) {
    writeFileSync(new URL(file, folder), typesOf(documents[i], about));
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main();
