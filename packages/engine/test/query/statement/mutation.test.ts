/**
 * Mutations as statements: declared types that reach hidden variants, memory, evaluation once more.
 */
import { describe, expect, test } from "vitest";
import { numbered, openStatements } from "../../support/run-statements.ts";

describe("a declaration", () => {
  test("lets UNSET reach a map that is hidden by a register", async () => {
    const { execute, rows } = await openStatements();
    await execute("INSERT INTO d DOCUMENTS ({'_id': 1, 'o': {'a': 1, 'b': 2}})");
    await execute("UPDATE COLLECTION d (o REGISTER) SET o = 5");
    const unset = "UPDATE COLLECTION d (o MAP) UNSET o.a RETURNING o";
    expect(await rows(unset)).toEqual([{ o: { b: 2 } }]);
    expect(await rows("SELECT o FROM COLLECTION d (o REGISTER)")).toEqual([{ o: 5 }]);
  });
});

test("an error in a document has the place of the documents", async () => {
  const { failure } = await openStatements();
  const error = await failure("INSERT INTO c\nDOCUMENTS ({'_id': null})");
  expect(error.place).toMatchObject({ line: 2, column: 12 });
});

describe("memory", () => {
  const text = "x".repeat(3000);
  const documents = numbered(600).map((each) => ({ ...(each as object), text }));

  test.each([
    "UPDATE c SET x = 1",
    "UPDATE c SET x = 1 ORDER BY text LIMIT 100",
    "DELETE FROM c ORDER BY text LIMIT 100",
    "DELETE FROM c RETURNING _id",
    "SELECT _id FROM c GROUP BY _id HAVING max(text) = 'q'",
  ])("%s counts the documents that it holds", async (statement) => {
    const { execute, failure } = await openStatements({ bytes: 200_000 });
    for (const each of documents) await execute("INSERT INTO c DOCUMENTS (:each)", { each });
    expect((await failure(statement)).code).toBe("query.too_large");
  });

  test("a DELETE keeps only the ids", async () => {
    const { execute } = await openStatements({ bytes: 200_000 });
    for (const each of documents) {
      await execute("INSERT INTO c DOCUMENTS (:each)", { each });
    }
    expect((await execute("DELETE FROM c")).mutatedDocumentIds).toHaveLength(600);
  });
});

test("the memory of a write that is evaluated again does not count twice", async () => {
  const { execute, disk } = await openStatements({ bytes: 150_000 });
  disk.holdSyncs();
  disk.failNextWrite("store.full");
  const failing = execute("INSERT INTO c DOCUMENTS ({'_id': 'a'})");
  while (disk.unsyncedCount === 0) await Promise.resolve();
  // Evaluated over the write before it, which then fails.
  const list = Array.from({ length: 40 }, () => "x".repeat(1000));
  const document = "{'_id': 'b', 'list': ARRAY x FOR x IN :list END}";
  const waiting = execute(`INSERT INTO c DOCUMENTS (${document})`, { list });
  await Promise.resolve();
  disk.releaseSyncs();
  await expect(failing).rejects.toMatchObject({ code: "store.full" });
  expect((await waiting).mutatedDocumentIds).toEqual(["b"]);
});
