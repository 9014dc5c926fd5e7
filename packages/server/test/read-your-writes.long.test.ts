/**
 * Many clients write and read at once, through one server: whoever passes on the transactionId of a
 * write sees that write, on whatever connection and by whatever operation he reads.
 *
 * Each client has documents of its own, so it knows exactly what it must find.
 */

import { join } from "node:path";
import type { Value, ValueObject } from "@bigpeer/protocol";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Random } from "../../engine/test/support/random.ts";
import { bundleScript, type Script } from "../../node/test/support/script.ts";
import { temporaryFolder } from "../../node/test/support/temporary-folder.ts";
import { expectValidAnswer } from "./support/answer-schema.ts";
import type { OperationName } from "./support/data-api.ts";
import { RawConnection } from "./support/raw-connection.ts";
import { bodyOf, callBytes, callOnce, type Served, serveFolder } from "./support/served-folder.ts";
import { OPERATION_PATHS } from "./support/valid-call.ts";

const CLIENTS = 64;
const WRITES = 10_240;
const READS_PER_WRITE = 2;

/** Every so many writes somebody asks for a transaction that is soon there, or never. */
const SOON_EVERY = 20;
const NEVER_EVERY = 128;

const HEADERS = ["X-SERVICE-TXN-ID", "X-DITTO-TXN-ID", "x-hydra-txn-id"];

let script: Script;

beforeAll(async () => {
  script = await bundleScript("server/src/main");
});

afterAll(() => script.remove());

interface Call {
  readonly operation: OperationName;
  readonly body: ValueObject;
}

interface Reply {
  readonly status: number;
  readonly body: ValueObject;
}

/** What a client has written: the fields of its documents, by id. */
type Documents = ReadonlyMap<string, ValueObject>;

interface WriteStep extends Call {
  readonly after: Documents;
}

/** The writes of a client, by turns; each changes something. */
function writeStep(owner: string, number: number, before: Documents): WriteStep {
  const first = `${owner}-first`;
  const second = `${owner}-second`;
  const fields = before.get(first) ?? {};
  const having = (id: string, more: ValueObject): Documents =>
    new Map([...before, [id, { ...before.get(id), ...more }]]);
  const upsert = (value: ValueObject): Call =>
    command({ method: "upsert", collection: "things", id: first, value });
  switch (number % 6) {
    case 0:
      return { ...upsert({ owner, n: number }), after: having(first, { owner, n: number }) };
    case 1:
      return {
        ...statement("UPDATE things SET n = :n WHERE _id = :id", { n: number, id: first }),
        after: having(first, { n: number }),
      };
    case 2: {
      const steps = [{ method: "increment", path: "hits", value: number }];
      const query = "_id == :id";
      const update = { method: "update", collection: "things", query, commands: steps };
      const hits = Number(fields["hits"] ?? 0) + number;
      return { ...command({ ...update, args: { id: first } }), after: having(first, { hits }) };
    }
    case 3: {
      const document = { _id: second, owner, n: number };
      return {
        ...statement("INSERT INTO things DOCUMENTS (:document)", { document }),
        after: having(second, { owner, n: number }),
      };
    }
    case 4: {
      const note = { text: `at ${number}` };
      return { ...upsert({ note }), after: having(first, { note }) };
    }
    default: {
      const query = "owner == $args.owner";
      const args = { owner };
      return {
        ...command({ method: "remove", collection: "things", query, args }),
        after: new Map(),
      };
    }
  }
}

function command(body: ValueObject): Call {
  return { operation: "write", body: { commands: [body] } };
}

function statement(text: string, args: ValueObject): Call {
  return { operation: "execute", body: { statement: text, args } };
}

interface ReadStep extends Call {
  /** What the answer must have, beside its transaction. */
  readonly expected: ValueObject;
}

function readStep(owner: string, number: number, documents: Documents): ReadStep {
  const ids = [...documents.keys()].toSorted();
  const shown = ids.map((id) => ({ id, fields: documents.get(id) ?? {} }));
  const filter = { collection: "things", query: "owner == :owner", args: { owner } };
  switch (number % 4) {
    case 0: {
      const id = `${owner}-first`;
      const expected = { id, fields: documents.get(id) ?? null };
      return { operation: "findbyid", body: { collection: "things", id }, expected };
    }
    case 1:
      return { operation: "count", body: filter, expected: { count: ids.length } };
    case 2: {
      const sort = [{ property: "_id", direction: "asc" }];
      return { operation: "find", body: { ...filter, sort }, expected: { documents: shown } };
    }
    default: {
      const text = "SELECT * FROM things WHERE owner = :owner ORDER BY _id";
      const items = shown.map(({ id, fields }) => ({ _id: id, ...fields }));
      return { ...statement(text, { owner }), expected: { items } };
    }
  }
}

/** What an answer says beside the things that are the same in all answers of its operation. */
function contentOf({ body }: Reply, expected: ValueObject): Value {
  return Object.fromEntries(Object.keys(expected).map((name) => [name, body[name] ?? null]));
}

/** The transaction of an answer, whatever its operation calls it. */
function transactionOf({ body }: Reply): number {
  const [result] = (body["results"] ?? []) as readonly ValueObject[];
  return (body["transactionId"] ?? body["txnId"] ?? result?.["transactionId"]) as number;
}

/** The status of a read whose transaction does not come. */
function refusalOf({ operation }: Call): number {
  return operation === "execute" ? 404 : 400;
}

function expectStatus(reply: Reply, status: number): void {
  expect(reply.status, JSON.stringify(reply.body)).toBe(status);
}

function expectContent(reply: Reply, { operation, expected }: ReadStep): void {
  expect(contentOf(reply, expected), operation).toEqual(expected);
}

function expectReached(reply: Reply, wanted: number): void {
  expect(transactionOf(reply)).toBeGreaterThanOrEqual(wanted);
}

function expectUnreached(reply: Reply): void {
  expect(JSON.stringify(reply.body)).toContain("has not reached transaction");
}

class Clients {
  readonly #served: Served;
  readonly #connections: readonly RawConnection[];
  readonly #others: Promise<void>[] = [];
  /** Of all writes. */
  readonly transactions: number[] = [];
  /** Reads that saw the write whose transaction they had. */
  pairs = 0;
  reached = 0;
  refused = 0;

  constructor(served: Served, connections: readonly RawConnection[]) {
    this.#served = served;
    this.#connections = connections;
  }

  async run(client: number): Promise<void> {
    const random = new Random(client);
    const owner = `client-${client}`;
    let documents: Documents = new Map();
    let wanted = 0;
    for (let number = 0; number < WRITES / CLIENTS; number++) {
      const step = writeStep(owner, number, documents);
      const written = await this.#call(step, client, wanted);
      expectStatus(written, 200);
      wanted = transactionOf(written);
      const count = this.transactions.push(wanted);
      documents = step.after;
      const reads = Array.from({ length: READS_PER_WRITE }, () => {
        const read = readStep(owner, random.below(4), documents);
        const other = (client + 1 + random.below(CLIENTS - 1)) % CLIENTS;
        return this.#read(read, other, wanted);
      });
      await Promise.all(reads);
      if (count % SOON_EVERY === 0)
        this.#others.push(this.#readSoon(owner, wanted + 1 + random.below(40)));
      if (count % NEVER_EVERY === 0) this.#others.push(this.#readNever(owner, number, wanted));
    }
  }

  async finish(): Promise<void> {
    await Promise.all(this.#others);
  }

  async #read(read: ReadStep, connection: number, wanted: number): Promise<void> {
    const reply = await this.#call(read, connection, wanted);
    expectStatus(reply, 200);
    expectContent(reply, read);
    expectReached(reply, wanted);
    this.pairs++;
  }

  /** Others write meanwhile: the read waits until they have come so far, or is refused. */
  async #readSoon(owner: string, wanted: number): Promise<void> {
    const read = readStep(owner, wanted, new Map());
    const reply = await this.#callAlone(read, wanted);
    if (reply.status !== 200) return expectStatus(reply, refusalOf(read));
    expectReached(reply, wanted);
    this.reached++;
  }

  async #readNever(owner: string, number: number, known: number): Promise<void> {
    const read = readStep(owner, number, new Map());
    const reply = await this.#callAlone(read, known + 1_000_000_000);
    expectStatus(reply, refusalOf(read));
    expectUnreached(reply);
    this.refused++;
  }

  async #callAlone(call: Call, wanted: number): Promise<Reply> {
    const connection = await RawConnection.open(this.#served.url);
    try {
      return await this.#ask(connection, call, wanted);
    } finally {
      connection.destroy();
    }
  }

  #call(call: Call, connection: number, wanted: number): Promise<Reply> {
    return this.#ask(this.#connections[connection], call, wanted);
  }

  async #ask(connection: RawConnection | undefined, call: Call, wanted: number): Promise<Reply> {
    const { operation, body } = call;
    const name = HEADERS[wanted % HEADERS.length] ?? "";
    const path = OPERATION_PATHS[operation];
    const answer = await connection?.ask(
      callBytes(this.#served, path, body, [[name, String(wanted)]]),
    );
    if (answer === undefined) throw new Error(`expected an answer of ${operation}`);
    const reply = { ...answer, body: bodyOf(answer) as ValueObject };
    expectValidAnswer({ operation, ...reply });
    return reply;
  }
}

test("[H10] [H18] each of ten thousand writes of 64 clients is seen by every read that names its transaction", async () => {
  const served = await serveFolder(script, join(temporaryFolder(), "data"));
  const document = { _id: "known", owner: "nobody" };
  await callOnce(served, "/store/execute", {
    statement: "INSERT INTO things DOCUMENTS (:document)",
    args: { document },
  });
  const connections = await Promise.all(
    Array.from({ length: CLIENTS }, () => RawConnection.open(served.url)),
  );
  const clients = new Clients(served, connections);
  await Promise.all(connections.map((_, client) => clients.run(client)));
  await clients.finish();
  expect(clients.pairs).toBe(WRITES * READS_PER_WRITE);
  expect(new Set(clients.transactions).size, "each write has its own transaction").toBe(WRITES);
  expect(Math.max(...clients.transactions)).toBe(WRITES + 1);
  expect(clients.reached).toBeGreaterThan(0);
  expect(clients.refused).toBe(Math.floor(WRITES / NEVER_EVERY));
  for (const connection of connections) connection.destroy();
  served.process.kill("SIGTERM");
  expect((await served.process.ended).code).toBe(0);
}, 600_000);
