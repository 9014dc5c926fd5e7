/**
 * Loads documents with INSERT statements of 1,000 documents each, several in flight: into a server
 * over HTTP, or into a store in this process. The order is that of creation, or that of ids, which
 * is easier for a store.
 */
import { StatementRunner } from "@bigpeer/engine/query";
import { Store } from "@bigpeer/engine/store";
import { nodePlatform, openStorage } from "@bigpeer/node";
import { fieldsOf, idOf } from "../floor/cars.mjs";
import { answer } from "../sync/answers.mjs";
import { post } from "../sync/post.mjs";

const AT_ONCE = 1_000;
const IN_FLIGHT = 4;
const STATEMENT = "INSERT INTO cars DOCUMENTS (:documents)";

function numbersOf(documents, isSorted) {
  const numbers = Array.from({ length: documents }, (_, i) => i);
  if (!isSorted) return numbers;
  const ids = numbers.map(idOf);
  return numbers.sort((a, b) => (ids[a] < ids[b] ? -1 : 1));
}

async function insertAll(numbers, insert) {
  let next = 0;
  const go = async () => {
    while (next < numbers.length) {
      const part = numbers.slice(next, next + AT_ONCE);
      next += part.length;
      await insert(part.map((i) => ({ _id: idOf(i), ...fieldsOf(i) })));
    }
  };
  const startedAt = performance.now();
  await Promise.all(Array.from({ length: IN_FLIGHT }, go));
  return { ms: performance.now() - startedAt };
}

answer({
  async overHttp({ port, token, documents, isSorted }) {
    return insertAll(numbersOf(documents, isSorted), (list) => {
      const body = { statement: STATEMENT, args: { documents: list } };
      return post({ port, path: "/api/v4/store/execute", token, body });
    });
  },

  async inProcess({ folder, documents, isSorted }) {
    const storage = await openStorage(folder);
    const store = await Store.open(storage, nodePlatform);
    const runner = new StatementRunner({ store, platform: nodePlatform, appId: "bench" });
    const result = await insertAll(numbersOf(documents, isSorted), (list) => {
      return runner.start({ statement: STATEMENT, args: { documents: list } });
    });
    const { items } = await runner.start({ statement: "SELECT count(*) AS n FROM cars" });
    if (items[0].n !== documents) throw new Error(`expected all, found ${JSON.stringify(items)}`);
    await store.close();
    await storage.close();
    return result;
  },
});
