/**
 * Requests of the HTTP benchmark: for each case a path and the body of request number `i`.
 */
import { fieldsOf, idOf } from "../floor/cars.mjs";

/** Documents that exist before the measurement: reads return them, upserts change them. */
export const DOCUMENTS = 20_000;

export const CASES = {
  findbyid: {
    title: "findbyid",
    path: "/api/v4/store/findbyid",
    body: (i) => ({ collection: "cars", id: knownId(i) }),
  },
  select: {
    title: "SELECT * FROM cars WHERE _id = :id",
    path: "/api/v4/store/execute",
    body: (i) => ({
      statement: "SELECT * FROM cars WHERE _id = :id",
      args: { id: knownId(i) },
    }),
  },
  write: {
    title: "write, upsert",
    isWrite: true,
    path: "/api/v4/store/write",
    body: (i) => ({ commands: [upsertOf(i)] }),
  },
  insert: {
    title: "INSERT … ON ID CONFLICT DO UPDATE",
    isWrite: true,
    path: "/api/v4/store/execute",
    body: (i) => ({
      statement: "INSERT INTO cars DOCUMENTS (:car) ON ID CONFLICT DO UPDATE",
      args: { car: { _id: knownId(i), ...fieldsOf(i) } },
    }),
  },
};

/** Fields of upsert number `i`, different each time, for an existing document. */
export function upsertOf(i) {
  return { method: "upsert", collection: "cars", id: knownId(i), value: fieldsOf(i) };
}

/** Visits all documents in turn, in an order that is unrelated to their keys. */
export function knownId(i) {
  return idOf(i % DOCUMENTS);
}
