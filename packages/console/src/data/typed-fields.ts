/**
 * The fields of a document with their CRDT types, from the form in which each value is wrapped with
 * its type.
 */
export type FieldType = "register" | "counter" | "map" | "attachment";

export interface TypedField {
  readonly path: readonly string[];
  readonly type: FieldType;
  /** Of a map, an empty object: its entries are fields of their own. */
  readonly value: unknown;
  /** Whether JSON cannot hold the value, such as binary: then `value` is undefined. */
  readonly isOpaque?: true;
  /** Of a counter: whether it is of the older kind, which takes fractions. */
  readonly isOld?: true;
}

type Wrapped = Readonly<Record<string, { readonly value?: unknown; readonly cbor?: string }>>;

/** All fields in the order of their names, each map before its entries. */
export function typedFields(
  fields: Readonly<Record<string, unknown>>,
  parent: readonly string[] = [],
): readonly TypedField[] {
  const names = Object.keys(fields).toSorted();
  return names.flatMap((name): readonly TypedField[] => {
    const path = [...parent, name];
    const [type = "register", content] = Object.entries(fields[name] as Wrapped)[0] ?? [];
    if (type !== "map") {
      const field = { path, type: knownType(type), value: content?.value };
      return [content?.cbor === undefined ? field : { ...field, isOpaque: true }];
    }
    const entries = (content?.value ?? {}) as Readonly<Record<string, unknown>>;
    return [{ path, type: "map", value: {} }, ...typedFields(entries, path)];
  });
}

function knownType(type: string): FieldType {
  return type === "counter" || type === "attachment" ? type : "register";
}
