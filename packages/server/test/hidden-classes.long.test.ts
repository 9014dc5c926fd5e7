/**
 * Requests of one kind make objects of the same hidden classes.
 *
 * A spread that adds a field gives each object a hidden class of its own in Node 20, and a closure
 * that is a generator function gives one to what it returns. Every read of such an object takes V8's
 * slow path, and nothing but the speed shows it. V8 logs each slow read with the hidden class.
 */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { ValueObject } from "@bigpeer/protocol";
import { afterAll, beforeAll, expect, test } from "vitest";
import { bundleScript, type Script } from "../../node/test/support/script.ts";
import { temporaryFolder } from "../../node/test/support/temporary-folder.ts";
import type { OperationName } from "./support/data-api.ts";
import { RawConnection } from "./support/raw-connection.ts";
import { callBytes, callOnce, type Served, serveFolder } from "./support/served-folder.ts";
import { OPERATION_PATHS } from "./support/valid-call.ts";

/** Each is for a document of its own, so that each delete has one to delete. */
const REQUESTS = 1_500;
const CONNECTIONS = 8;

/** Hidden classes at one place of the code that are too many: most requests have one of their own. */
const CLASSES_MAX = REQUESTS / 2;

interface Kind {
  readonly operation: OperationName;
  readonly body: (i: number) => ValueObject;
}

function idOf(i: number): string {
  return `car-${i}`;
}

function command(of: (i: number) => ValueObject): Kind {
  return { operation: "write", body: (i) => ({ commands: [of(i)] }) };
}

function statement(text: string, args: (i: number) => ValueObject): Kind {
  return { operation: "execute", body: (i) => ({ statement: text, args: args(i) }) };
}

const collection = "cars";
const byId = (i: number): ValueObject => ({ query: "_id = :id", args: { id: idOf(i) } });

const KINDS: ReadonlyMap<string, Kind> = new Map([
  [
    "upsert",
    command((i) => ({ method: "upsert", collection, id: idOf(i), value: { n: i, color: "blue" } })),
  ],
  [
    "update",
    command((i) => ({
      method: "update",
      collection,
      ...byId(i),
      commands: [{ method: "set", path: "n", value: i }],
    })),
  ],
  ["remove", command((i) => ({ method: "remove", collection, ...byId(i) }))],
  [
    "INSERT",
    statement("INSERT INTO cars DOCUMENTS (:car) ON ID CONFLICT DO UPDATE", (i) => ({
      car: { _id: idOf(i), n: i, color: "red" },
    })),
  ],
  [
    "UPDATE",
    statement("UPDATE cars SET n = :n WHERE _id = :id", (i) => ({ n: i + 1, id: idOf(i) })),
  ],
  ["SELECT", statement("SELECT * FROM cars WHERE _id = :id", (i) => ({ id: idOf(i) }))],
  ["findbyid", { operation: "findbyid", body: (i) => ({ collection, id: idOf(i) }) }],
  ["find", { operation: "find", body: (i) => ({ collection, ...byId(i), limit: 1 }) }],
  ["DELETE", statement("DELETE FROM cars WHERE _id = :id", (i) => ({ id: idOf(i) }))],
]);

let script: Script;

beforeAll(async () => {
  script = await bundleScript("server/src/main");
});

afterAll(() => script.remove());

test.for([...KINDS])("%s makes no hidden class for each request", async ([, kind]) => {
  const folder = temporaryFolder();
  const log = join(folder, "v8.log");
  const flags = ["--log-ic", `--logfile=${log}`, "--no-logfile-per-isolate"];
  const served = await serveFolder({ ...script, flags }, join(folder, "data"));
  await fill(served);
  await Promise.all(Array.from({ length: CONNECTIONS }, (_, k) => ask(served, kind, k)));
  served.process.kill("SIGTERM");
  expect((await served.process.ended).code).toBe(0);
  const events = readFileSync(log, "latin1");
  // Not vacuous: V8 logged its slow reads.
  expect(events).toContain("\nLoadIC,");
  expect(placesOf(events)).toEqual([]);
});

test("a place with a hidden class for each object is found", () => {
  const lines = Array.from({ length: REQUESTS }, (_, i) => `LoadIC,0x1,5,7,9,N,N,0x${i},name,,`);
  expect(placesOf(lines.join("\n"))).toEqual([`7:9 name: ${REQUESTS} hidden classes`]);
});

async function fill(served: Served): Promise<void> {
  const cars = Array.from({ length: REQUESTS }, (_, i) => ({
    _id: idOf(i),
    n: 0,
    color: "green",
  }));
  await callOnce(served, OPERATION_PATHS.execute, {
    statement: "INSERT INTO cars DOCUMENTS (:cars)",
    args: { cars },
  });
}

async function ask(served: Served, { operation, body }: Kind, first: number): Promise<void> {
  const connection = await RawConnection.open(served.url);
  for (let i = first; i < REQUESTS; i += CONNECTIONS) {
    const answer = await connection.ask(callBytes(served, OPERATION_PATHS[operation], body(i)));
    expect(answer?.status).toBe(200);
  }
  connection.destroy();
}

/** The places of the code, by line and column of the program, that met too many hidden classes. */
function placesOf(log: string): string[] {
  const classes = new Map<string, Set<string>>();
  for (const line of log.split("\n")) {
    const [event = "", , , row, column, , , hiddenClass = "", name] = line.split(",");
    if (!event.endsWith("IC")) continue;
    const place = `${row}:${column} ${name}`;
    let met = classes.get(place);
    if (met === undefined) classes.set(place, (met = new Set()));
    met.add(hiddenClass);
  }
  return Array.from(classes)
    .filter(([, met]) => met.size > CLASSES_MAX)
    .map(([place, met]) => `${place}: ${met.size} hidden classes`);
}
