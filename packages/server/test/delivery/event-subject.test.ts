/** Subjects of NATS from a template and a change. */

import { expect, test } from "vitest";
import { subjectOf } from "../../src/delivery/event-subject.ts";

const FIELDS = { app: "5f4a", collection: "orders", type: "insert", id: "o1" };

test("[M50] fields of the change replace the names in braces", () => {
  expect(subjectOf("bigpeer.{app}.{collection}.{type}", FIELDS)).toBe("bigpeer.5f4a.orders.insert");
  expect(subjectOf("all", FIELDS)).toBe("all");
  expect(subjectOf("x.{id}-{type}", FIELDS)).toBe("x.o1-insert");
});

test("[M50] a field stays within its token", () => {
  const odd = { ...FIELDS, collection: "a.b c*d>e\n", id: "" };
  expect(subjectOf("{collection}.{id}", odd)).toBe("a_b_c_d_e_._");
  expect(subjectOf("{id}", { ...FIELDS, id: { a: 1.5 } })).toBe('{"a":1_5}');
});
