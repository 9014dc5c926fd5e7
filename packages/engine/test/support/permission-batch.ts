/**
 * The model of write batches: what a caller with rules is told, and what he leaves.
 *
 * Each command runs on a copy of what may be read, document by document, by a caller without rules;
 * the slow obvious evaluator says what of it is allowed.
 */

import { assert, type Value, type ValueObject } from "@bigpeer/protocol";
import type {
  RemoveCommand,
  UpdateCommand,
  UpdateResult,
  UpsertCommand,
  WriteCommand,
  WriteResult,
} from "../../src/query/command/command.ts";
import {
  type Expected,
  type Nature,
  noDocument,
  noRule,
  noToken,
  type Prediction,
  type Reply,
  replyOf,
  settle,
} from "./permission-answer.ts";
import type { FuzzWorld } from "./permission-fuzz.ts";
import {
  allows,
  copyOf,
  documentsOf,
  hasRule,
  keyOf,
  mayReadContent,
  type Peer,
  type Placed,
} from "./permission-peer.ts";

type Step = { readonly result: WriteResult } | { readonly end: Expected };

export class BatchModel {
  readonly #world: FuzzWorld;
  readonly #before: Peer;
  /** The keys of what may not be read, those that the batch itself has hidden included. */
  readonly #hidden: Set<string>;
  readonly #moved: Placed[] = [];
  readonly natures: Nature[] = [];

  constructor(world: FuzzWorld, before: Peer, hidden: Set<string>) {
    this.#world = world;
    this.#before = before;
    this.#hidden = hidden;
  }

  /** What is drawn for ids begins with `seed`. */
  async predict(commands: readonly WriteCommand[], seed: number): Promise<Prediction> {
    for (const [i, command] of commands.entries()) {
      if (!this.#isRuled(command)) {
        return { expected: this.#end("noRule", noRule([command.collection], placeOf(i))) };
      }
    }
    const peer = await copyOf(this.#before);
    peer.reseed(seed);
    const results: WriteResult[] = [];
    for (const [i, command] of commands.entries()) {
      const step = await this.#step(peer, command, i);
      if ("end" in step) return { expected: step.end };
      results.push(step.result);
      const moved = await settle(peer, this.#world);
      for (const { collection, id } of moved) this.#hidden.add(keyOf(collection, id));
      this.#moved.push(...moved);
    }
    return { expected: { reply: { results } }, next: { readable: peer, moved: this.#moved } };
  }

  #end(nature: Nature, expected: Expected): Expected {
    this.natures.push(nature);
    return expected;
  }

  #isRuled({ method, collection }: WriteCommand): boolean {
    const { read, write } = this.#world;
    const isReadable = method === "upsert" || hasRule(read, collection);
    return isReadable && hasRule(write, collection);
  }

  async #step(peer: Peer, command: WriteCommand, i: number): Promise<Step> {
    const isDenied = tokensIn(command).some((id) => !mayReadContent(this.#world, peer, id));
    if (isDenied) return { end: this.#end("token", noToken(placeOf(i))) };
    if (command.method === "upsert") return this.#upsert(peer, command, i);
    return this.#change(peer, command, i);
  }

  /** Only who reads everything is told that there is no such collection. */
  #isUnknown({ store }: Peer, collection: string): boolean {
    const isThere = store.read((view) => view.collectionNumber(collection) !== undefined);
    return this.#world.read.everything && !isThere;
  }

  async #upsert(peer: Peer, command: UpsertCommand, i: number): Promise<Step> {
    const { collection, value } = command;
    const { write } = this.#world;
    const id = (value as ValueObject)["_id"];
    const key = id === undefined ? "" : keyOf(collection, id);
    const before = documentsOf(peer).get(key);
    const denied = noDocument(collection, placeOf(i));
    const outcome = await runAt(peer, command, i);
    if (outcome["error"] === "attachment.invalid") return { end: { reply: outcome } };
    if (this.#hidden.has(key)) return { end: this.#end("takenId", denied) };
    if (before !== undefined && !allows(write, before)) {
      return { end: this.#end("unwritable", denied) };
    }
    if (outcome["error"] !== undefined) return { end: { reply: outcome } };
    const result = resultOf(outcome);
    assert(result.method === "upsert", "the result of an upsert");
    const after = documentsOf(peer).get(keyOf(collection, result.id));
    if (after !== undefined && !allows(write, after)) return { end: this.#end("after", denied) };
    return { result };
  }

  async #change(peer: Peer, command: UpdateCommand | RemoveCommand, i: number): Promise<Step> {
    const { collection, query, args } = command;
    if (this.#isUnknown(peer, collection)) return { end: { reply: unknown(collection, i) } };
    const { documents } = await peer.runner.find({ collection, query, args });
    const trial = await copyOf(peer);
    const counts = { done: 0, error: 0, denied: 0 };
    const allowed: Value[] = [];
    for (const document of documents) {
      const isWritable = allows(this.#world.write, { collection, ...document });
      const outcome = isWritable ? await this.#tryOn(trial, command, document.id) : "denied";
      counts[outcome]++;
      if (outcome === "done") allowed.push(document.id);
    }
    const outcome = await runAt(peer, { ...command, ...these(allowed) }, i);
    if (outcome["error"] !== undefined) return { end: { reply: outcome } };
    if (counts.denied > 0) this.natures.push("counted");
    const permissionDenied = counts.denied;
    const rest = { internalError: 0, permissionDenied };
    return command.method === "update"
      ? { result: { method: "update", updated: counts.done, error: counts.error, ...rest } }
      : { result: { method: "remove", deleted: counts.done, ...rest } };
  }

  /** What becomes of one document that may be written as it is. */
  async #tryOn(
    trial: Peer,
    command: UpdateCommand | RemoveCommand,
    id: Value,
  ): Promise<"done" | "error" | "denied"> {
    const outcome = await runAt(trial, { ...command, ...these([id]) }, 0);
    // It will be told for the whole command.
    if (outcome["error"] !== undefined) return "done";
    if ((resultOf(outcome) as UpdateResult).error > 0) return "error";
    const after = documentsOf(trial).get(keyOf(command.collection, id));
    return after === undefined || allows(this.#world.write, after) ? "done" : "denied";
  }
}

function placeOf(i: number): string {
  return ` at commands[${i}]`;
}

function unknown(collection: string, i: number): Reply {
  const at = `commands[${i}].collection`;
  const message = `unknown collection "${collection}" at ${at}`;
  return { error: "query.collection", message, at, place: undefined };
}

function these(ids: readonly Value[]): { readonly query: string; readonly args: ValueObject } {
  return { query: "ANY x IN :these SATISFIES x == _id END", args: { these: ids } };
}

/** Runs a command as the one with this number, by a caller without rules. */
async function runAt({ runner }: Peer, command: WriteCommand, i: number): Promise<Reply> {
  const outcome = await replyOf(async () => ({
    results: (await runner.write({ commands: [command] })).results,
  }));
  const moved = (text: unknown): unknown =>
    typeof text === "string" ? text.replace("commands[0]", `commands[${i}]`) : text;
  return Object.fromEntries(Object.entries(outcome).map(([name, part]) => [name, moved(part)]));
}

function resultOf({ results }: Reply): WriteResult {
  const last = (results as readonly WriteResult[]).at(-1);
  assert(last !== undefined, "the result of a command");
  return last;
}

/** The contents that a command itself names. */
function tokensIn(command: WriteCommand): string[] {
  if (command.method === "remove") return [];
  if (command.method === "upsert") {
    const { pic } = command.value as { readonly pic?: { readonly id: string } };
    return pic === undefined ? [] : [pic.id];
  }
  return command.commands
    .filter(({ method }) => method === "setAttachment")
    .map(({ value }) => (value as { readonly id: string }).id);
}
