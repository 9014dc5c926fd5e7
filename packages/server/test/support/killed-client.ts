/**
 * A client of a server that is killed again and again. It counts what it was told, sends again what
 * it was not told about, and knows what the server must have after each restart.
 *
 * Each of its requests with a key adds one to a counter of its own: so the counter says how often
 * the requests had an effect.
 */

import type { Value, ValueObject } from "@bigpeer/protocol";
import { expect } from "vitest";
import type { OperationName } from "./data-api.ts";
import { type RawAnswer, RawConnection, requestBytes } from "./raw-connection.ts";
import { askOnce, bodyOf, callBytes, callOnce, type Served, uploadBytes } from "./served-folder.ts";
import { OPERATION_PATHS } from "./valid-call.ts";

/** A request with a key: sent again it is the same, byte by byte. */
interface KeyedRequest {
  readonly operation: OperationName;
  readonly body: ValueObject;
  readonly key: string;
}

interface KeyedAnswer {
  readonly request: KeyedRequest;
  readonly body: Value;
}

/** Told of every answer; it may kill the server. */
export type OnAnswer = () => void;

const COLLECTION = "counted";

export class KilledClient {
  readonly #name: string;
  #number = 0;
  /** Requests with a key that were answered. */
  #counted = 0;
  #unanswered: KeyedRequest | undefined;
  #lastAnswered: KeyedAnswer | undefined;
  /** Ids of documents that were acknowledged. */
  readonly #documents: string[] = [];
  /** Contents that were acknowledged, by their ids. */
  readonly #contents = new Map<string, string>();
  /** How many requests were sent again after a kill, and how many of them had had their effect. */
  resent = 0;
  replayed = 0;

  constructor(name: string) {
    this.#name = name;
  }

  /** How many writes and uploads were acknowledged. */
  get acknowledged(): number {
    return this.#counted + this.#documents.length + this.#contents.size;
  }

  get uploaded(): number {
    return this.#contents.size;
  }

  async begin(served: Served): Promise<void> {
    const value = { n: 0 };
    const overrides = { valueTypeOverrides: { n: "counter" } };
    const upsert = { method: "upsert", collection: COLLECTION, id: this.#name, value };
    await callOnce(served, "/store/write", { commands: [{ ...upsert, ...overrides }] });
  }

  /** Writes one after the other until the server is gone. */
  async work(served: Served, onAnswer: OnAnswer): Promise<void> {
    const connection = await RawConnection.open(served.url);
    while (await this.#step(served, connection)) onAnswer();
    connection.destroy();
  }

  /** After a restart: what was not answered is sent again, and all that was acknowledged is there. */
  async settle(served: Served): Promise<void> {
    const connection = await RawConnection.open(served.url);
    await this.#expectCounter(served, this.#unanswered === undefined ? [0] : [0, 1]);
    if (this.#unanswered !== undefined) {
      const request = this.#unanswered;
      this.resent++;
      const answer = await this.#send(served, connection, request);
      expectSuccess(answer, request.key);
      if (answer?.headers.get("idempotency-replayed") === "true") this.replayed++;
    }
    await this.#expectCounter(served, [0]);
    await this.#repeatLast(served, connection);
    await this.#expectCounter(served, [0]);
    connection.destroy();
  }

  /** All documents and contents that were acknowledged, in all lives. */
  async check(served: Served): Promise<void> {
    const query = "client == :client";
    const find = { collection: COLLECTION, query, args: { client: this.#name }, limit: 1_000_000 };
    const { documents } = (await callOnce(served, "/store/find", find)) as {
      readonly documents: readonly { readonly id: string }[];
    };
    const found = new Set(documents.map(({ id }) => id));
    const lost = this.#documents.filter((id) => !found.has(id));
    expectSame(lost, [], `documents of ${this.#name} that are lost`);
    for (const [id, content] of this.#contents) {
      const answer = await askOnce(served, downloadBytes(served, id));
      expectSame(Buffer.from(answer.bytes).toString(), content, `the attachment ${id}`);
    }
  }

  /** False when there was no answer. */
  async #step(served: Served, connection: RawConnection): Promise<boolean> {
    const number = this.#number++;
    if (number % 24 === 7) return this.#upload(served, connection, number);
    if (number % 3 === 2) return this.#writePlain(served, connection, number);
    const key = `${this.#name}-${number}`;
    const request = { ...(number % 3 === 0 ? this.#batch(number) : this.#statement()), key };
    return (await this.#send(served, connection, request)) !== undefined;
  }

  /** A batch that adds one and makes a document: both or none. */
  #batch(number: number): Omit<KeyedRequest, "key"> {
    const id = `${this.#name}-${number}`;
    const steps = [{ method: "increment", path: "n", value: 1 }];
    const args = { id: this.#name };
    const query = "_id == :id";
    const update = { method: "update", collection: COLLECTION, query, args, commands: steps };
    const value = { client: this.#name, number };
    const upsert = { method: "upsert", collection: COLLECTION, id, value };
    return { operation: "write", body: { commands: [update, upsert] } };
  }

  #statement(): Omit<KeyedRequest, "key"> {
    const statement = `UPDATE COLLECTION ${COLLECTION} (n COUNTER) APPLY n INCREMENT BY 1 WHERE _id = :id`;
    return { operation: "execute", body: { statement, args: { id: this.#name } } };
  }

  /** A write without a key: when it is not answered, nobody knows. */
  async #writePlain(served: Served, connection: RawConnection, number: number): Promise<boolean> {
    const id = `${this.#name}-${number}`;
    const value = { client: this.#name, number };
    const commands = [{ method: "upsert", collection: COLLECTION, id, value }];
    const answer = await connection.ask(callBytes(served, "/store/write", { commands }));
    if (answer === undefined) return false;
    expectSuccess(answer, id);
    this.#documents.push(id);
    return true;
  }

  async #upload(served: Served, connection: RawConnection, number: number): Promise<boolean> {
    const content = `${this.#name} ${number} `.repeat(1 + (number % 5_000));
    const answer = await connection.ask(uploadBytes(served, content));
    if (answer === undefined) return false;
    expectSuccess(answer, `upload ${number} of ${this.#name}`);
    const { id } = bodyOf(answer) as { readonly id: string };
    this.#contents.set(id, content);
    return true;
  }

  async #send(
    served: Served,
    connection: RawConnection,
    request: KeyedRequest,
  ): Promise<RawAnswer | undefined> {
    this.#unanswered = request;
    const answer = await connection.ask(keyedBytes(served, request));
    if (answer === undefined) return undefined;
    expectSuccess(answer, request.key);
    this.#unanswered = undefined;
    this.#counted++;
    this.#lastAnswered = { request, body: bodyOf(answer) };
    if (request.operation === "write") this.#documents.push(request.key);
    return answer;
  }

  /** An answered request that comes once more has the same answer, and no effect. */
  async #repeatLast(served: Served, connection: RawConnection): Promise<void> {
    if (this.#lastAnswered === undefined) return;
    const { request, body } = this.#lastAnswered;
    const answer = await connection.ask(keyedBytes(served, request));
    expectSuccess(answer, request.key);
    const isReplayed = answer?.headers.get("idempotency-replayed");
    expectSame(isReplayed, "true", `${request.key} is not taken for a repetition`);
    expectSame(answer && bodyOf(answer), body, `the answer of ${request.key}`);
  }

  /** The counter is what was answered, and one of `more`. */
  async #expectCounter(served: Served, more: readonly number[]): Promise<void> {
    const findById = { collection: COLLECTION, id: this.#name };
    const { fields } = (await callOnce(served, "/store/findbyid", findById)) as {
      readonly fields: { readonly n: number };
    };
    const beside = fields.n - this.#counted;
    expectSame(
      more.includes(beside),
      true,
      `${this.#name} counts ${beside} beside what it was told`,
    );
  }
}

function expectSuccess(answer: RawAnswer | undefined, about: string): void {
  const text = answer === undefined ? "no answer" : Buffer.from(answer.bytes).toString();
  expect(answer?.status, `${about}: ${text}`).toBe(200);
}

function expectSame(found: unknown, expected: unknown, about: string): void {
  expect(found, about).toEqual(expected);
}

function keyedBytes(served: Served, { operation, body, key }: KeyedRequest): Uint8Array {
  return callBytes(served, OPERATION_PATHS[operation], body, [["Idempotency-Key", key]]);
}

function downloadBytes({ url, apiKey }: Served, id: string): Uint8Array {
  return requestBytes({
    method: "GET",
    target: `/api/v4/attachments/${id}`,
    headers: [
      ["Host", new URL(url).host],
      ["Authorization", `Bearer ${apiKey}`],
    ],
  });
}
