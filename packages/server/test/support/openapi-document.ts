/**
 * An OpenAPI document as its tests read it: every object in it, what a reference leads to, its
 * operations and its examples.
 */

import { isArray, isObject, type Value, type ValueObject } from "@bigpeer/protocol";

export interface ListedOperation {
  /** As `post /store/find`. */
  readonly name: string;
  readonly path: string;
  readonly method: string;
  readonly operation: ValueObject;
  /** The reference to it. */
  readonly at: string;
}

export interface ListedExample {
  readonly path: string;
  readonly schema: ValueObject;
  readonly value: Value;
}

/** Every object in a value, with the path to it. */
export function* objectsIn(value: Value, path = "#"): Generator<readonly [string, ValueObject]> {
  if (isArray(value)) {
    for (const [index, element] of value.entries()) yield* objectsIn(element, `${path}/${index}`);
  }
  if (!isObject(value)) return;
  yield [path, value];
  for (const [name, inner] of Object.entries(value)) {
    yield* objectsIn(inner, `${path}/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`);
  }
}

export function fieldsIn(value: Value | undefined): string[] {
  return isObject(value) ? Object.keys(value) : [];
}

export class OpenApiDocument {
  readonly value: ValueObject;
  readonly objects: readonly (readonly [string, ValueObject])[];
  readonly operations: readonly ListedOperation[];
  readonly examples: readonly ListedExample[];

  constructor(document: ValueObject) {
    this.value = document;
    this.objects = [...objectsIn(document)];
    this.operations = Object.entries(this.objectAt("#/paths")).flatMap(([path, item]) =>
      Object.entries(item as ValueObject).map(([method, operation]) => ({
        name: `${method} ${path}`,
        path,
        method,
        operation: operation as ValueObject,
        at: `#/paths/${path.replaceAll("/", "~1")}/${method}`,
      })),
    );
    this.examples = this.objects.flatMap(([path, { schema, examples }]) => {
      if (!isObject(schema) || !isObject(examples)) return [];
      return Object.entries(examples).map(([name, example]) => ({
        path: `${path}/${name}`,
        schema,
        value: (example as { readonly value: Value }).value,
      }));
    });
  }

  /** What stands at a path like `#/a/b`; undefined when nothing does. */
  at(path: string): Value | undefined {
    let found: Value | undefined = this.value;
    for (const part of path.split("/").slice(1)) {
      const name = part.replaceAll("~1", "/").replaceAll("~0", "~");
      found = isObject(found) && Object.hasOwn(found, name) ? found[name] : undefined;
    }
    return found;
  }

  objectAt(path: string): ValueObject {
    const found = this.at(path);
    if (!isObject(found)) throw new Error(`expected an object at ${path}`);
    return found;
  }

  fieldsOf(path: string): string[] {
    return Object.keys(this.objectAt(path));
  }

  /** References that lead nowhere. */
  danglingReferences(): string[] {
    const references = this.objects.flatMap(([, { $ref }]) =>
      typeof $ref === "string" ? [$ref] : [],
    );
    return references.filter((reference) => this.at(reference) === undefined);
  }

  /** Components of these kinds that nothing refers to. */
  unusedComponents(kinds: readonly string[]): string[] {
    const used = new Set(JSON.stringify(this.value).match(/"#\/components\/[^"]*"/g));
    const components = kinds.flatMap((kind) =>
      this.fieldsOf(`#/components/${kind}`).map((name) => `"#/components/${kind}/${name}"`),
    );
    return components.filter((component) => !used.has(component));
  }

  /** All schemas, and references to the named ones. */
  schemas(): ValueObject[] {
    const inner = this.objects.flatMap(([, { schema }]) => (isObject(schema) ? [schema] : []));
    const named = this.fieldsOf("#/components/schemas").map((name) => {
      return { $ref: `#/components/schemas/${name}` };
    });
    return [...inner, ...named];
  }
}
