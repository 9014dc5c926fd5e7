import { expect, test } from "vitest";
import { typedFields } from "../../src/crdt/typed-values.ts";

test("[D17] each value is wrapped with its type, maps recursively", () => {
  const token = { id: "abc", len: 3, metadata: {} };
  const shown = {
    fields: {
      text: "x",
      list: [1, { a: 2 }],
      count: 5,
      old: 1.5,
      whole: { a: 1 },
      file: token,
      map: { n: null, deep: { count: 1 } },
      empty: {},
    },
    types: {
      count: "counter",
      old: "pn_counter",
      whole: "register",
      file: "attachment",
      map: { deep: { count: "counter" } },
    },
  } as const;
  expect(typedFields(shown)).toEqual({
    text: { register: { value: "x" } },
    list: { register: { value: [1, { a: 2 }] } },
    count: { counter: { value: 5 } },
    old: { counter: { value: 1.5 } },
    whole: { register: { value: { a: 1 } } },
    file: { attachment: { value: token } },
    map: {
      map: {
        value: {
          n: { register: { value: null } },
          deep: { map: { value: { count: { counter: { value: 1 } } } } },
        },
      },
    },
    empty: { map: { value: {} } },
  });
});

test("[D17] a field named like a method of objects is an ordinary field", () => {
  const fields = JSON.parse('{"__proto__":1,"constructor":{"toString":2}}') as object;
  const typed = typedFields({ fields: fields as Record<string, number>, types: undefined });
  expect(JSON.stringify(typed)).toBe(
    '{"__proto__":{"register":{"value":1}},"constructor":{"map":{"value":{"toString":{"register":{"value":2}}}}}}',
  );
});
