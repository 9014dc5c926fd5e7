/**
 * A peer for examples: it writes at the times that the example names, takes what others have, and
 * tells what it shows. And the words for what can be written.
 */

import type {
  CounterType,
  Edit,
  Stamp,
  TypeMark,
  Types,
  Value,
  ValueObject,
} from "@bigpeer/protocol";
import { deltaOf } from "../../src/crdt/edit.ts";
import { merge } from "../../src/crdt/merge.ts";
import { show } from "../../src/crdt/show.ts";
import { type DocumentState, EMPTY_STATE, eachStateStamp } from "../../src/crdt/state.ts";
import { type Intent, operationOf, siteName } from "./history.ts";

export class Peer {
  readonly site: string;
  #time = 0;
  #state: DocumentState = EMPTY_STATE;

  constructor(site: number) {
    this.site = siteName(site);
  }

  get state(): DocumentState {
    return this.#state;
  }

  /** What shows; undefined when the document does not. */
  get shown(): ValueObject | undefined {
    return show(this.#state)?.fields;
  }

  /** Writes at the next tick, or at the given one. Returns what was written, undefined for nothing. */
  write(intent: Intent, at?: number): DocumentState | undefined {
    this.#time = at ?? this.#time + 1;
    const operation = operationOf(this.#state, intent);
    if (operation === undefined) return undefined;
    const delta = deltaOf(this.#state, operation, stampAt(this.#time, this.site));
    if (delta !== undefined) this.take(delta);
    return delta;
  }

  take(...states: readonly (DocumentState | Peer)[]): this {
    for (const state of states) {
      this.#state = merge(this.#state, state instanceof Peer ? state.state : state);
    }
    eachStateStamp(this.#state, ({ time }) => {
      this.#time = Math.max(this.#time, time);
    });
    return this;
  }

  /** Another peer that has seen what this one has. */
  fork(site: number): Peer {
    return new Peer(site).take(this);
  }
}

/** A peer that wrote all this, one tick after the other. */
export function peerAfter(...intents: readonly Intent[]): Peer {
  const peer = new Peer(1);
  for (const intent of intents) peer.write(intent);
  return peer;
}

/** What shows after all this was written, one tick after the other. */
export function shownAfter(...intents: readonly Intent[]): ValueObject | undefined {
  return peerAfter(...intents).shown;
}

/** What a new peer shows that took all of these. */
export function shownTogether(
  ...parts: readonly (DocumentState | Peer)[]
): ValueObject | undefined {
  return new Peer(99).take(...parts).shown;
}

export function stampAt(time: number, site: number | string): Stamp {
  return { time, site: typeof site === "number" ? siteName(site) : site };
}

export function insert(fields: ValueObject, types?: Types): Intent {
  return { kind: "insert", fields, ...(types === undefined ? {} : { types }) };
}

export function initial(fields: ValueObject, types?: Types): Intent {
  return { kind: "initial", fields, ...(types === undefined ? {} : { types }) };
}

export function upsert(fields: ValueObject, types?: Types): Intent {
  return { kind: "upsert", fields, ...(types === undefined ? {} : { types }) };
}

export function remove(): Intent {
  return { kind: "delete" };
}

/** Several edits of one tick. */
export function update(...parts: readonly Intent[]): Intent {
  const edits = parts.flatMap((part) => (part.kind === "update" ? part.edits : []));
  return { kind: "update", edits };
}

export function set(path: string, value: Value, types?: TypeMark): Intent {
  return editing({
    kind: "set",
    path: path.split("."),
    value,
    ...(types === undefined ? {} : { types }),
  });
}

export function unset(path: string): Intent {
  return editing({ kind: "unset", path: path.split(".") });
}

export function increment(path: string, by: number | bigint, counter?: CounterType): Intent {
  const edit: Edit = { kind: "increment", path: path.split("."), by };
  return editing(counter === undefined ? edit : { ...edit, counter });
}

export function restart(path: string, value: number | bigint, counter?: CounterType): Intent {
  const edit: Edit = { kind: "restart", path: path.split("."), value };
  return editing(counter === undefined ? edit : { ...edit, counter });
}

function editing(edit: Edit): Intent {
  return { kind: "update", edits: [edit] };
}
