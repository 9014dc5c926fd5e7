/**
 * Destinations: the operations of the management API on the webhooks or on the sinks of an app,
 * which are the same for both.
 */

import { pathText } from "./address.ts";
import type { Answer, Body, ManagementCalls, PageOptions } from "./management-calls.ts";
import type { CallOptions } from "./options.ts";

type Kind = "webhook" | "sink";

/** Webhooks or sinks of apps; see {@link Management.webhooks} and {@link Management.sinks}. */
export class Destinations<K extends Kind> {
  readonly #calls: ManagementCalls;
  readonly #kind: K;

  constructor(calls: ManagementCalls, kind: K) {
    this.#calls = calls;
    this.#kind = kind;
  }

  /** Lists those of an app. */
  list(app: string, options: PageOptions = {}): Answer<`list_${K}s`> {
    return this.#calls.list<`list_${K}s`>(this.#path(app), options);
  }

  /** Creates one, which gets the changes from now on. A new webhook shows its secret once. */
  create(
    app: string,
    destination: Body<`create_${K}`>,
    options: CallOptions = {},
  ): Answer<`create_${K}`> {
    return this.#calls.call<`create_${K}`>("POST", this.#path(app), options, destination);
  }

  /** Reads one. */
  get(app: string, name: string, options: CallOptions = {}): Answer<`get_${K}`> {
    return this.#calls.call<`get_${K}`>("GET", this.#path(app, name), options);
  }

  /** Changes one. An absent field stays the same. */
  update(
    app: string,
    name: string,
    change: Body<`update_${K}`>,
    options: CallOptions = {},
  ): Answer<`update_${K}`> {
    return this.#calls.call<`update_${K}`>("PATCH", this.#path(app, name), options, change);
  }

  /** Deletes one with its dead letters. */
  delete(app: string, name: string, options: CallOptions = {}): Answer<`delete_${K}`> {
    return this.#calls.call<`delete_${K}`>("DELETE", this.#path(app, name), options);
  }

  /** Reads how far its deliveries are. */
  status(app: string, name: string, options: CallOptions = {}): Answer<`get_${K}_status`> {
    return this.#calls.call<`get_${K}_status`>("GET", this.#path(app, name, "status"), options);
  }

  /** Pauses its deliveries. It keeps its position. */
  pause(app: string, name: string, options: CallOptions = {}): Answer<`pause_${K}`> {
    return this.#calls.call<`pause_${K}`>("POST", this.#path(app, name, "pause"), options);
  }

  /** Resumes its deliveries where they stopped, or at another position. */
  resume(
    app: string,
    name: string,
    from: Body<`resume_${K}`>,
    options: CallOptions = {},
  ): Answer<`resume_${K}`> {
    return this.#calls.call<`resume_${K}`>("POST", this.#path(app, name, "resume"), options, from);
  }

  /** Sends all its dead letters again, until one fails. */
  retry(app: string, name: string, options: CallOptions = {}): Answer<`retry_${K}`> {
    return this.#calls.call<`retry_${K}`>("POST", this.#path(app, name, "retry"), options);
  }

  /** Lists its dead letters, the oldest first. */
  listDeadLetters(
    app: string,
    name: string,
    options: PageOptions = {},
  ): Answer<`list_${K}_dead_letters`> {
    const path = this.#path(app, name, LETTERS);
    return this.#calls.list<`list_${K}_dead_letters`>(path, options);
  }

  /** Reads a dead letter with its changes. */
  getDeadLetter(
    app: string,
    name: string,
    letter: string,
    options: CallOptions = {},
  ): Answer<`get_${K}_dead_letter`> {
    const path = this.#path(app, name, LETTERS, letter);
    return this.#calls.call<`get_${K}_dead_letter`>("GET", path, options);
  }

  /** Discards a dead letter. */
  deleteDeadLetter(
    app: string,
    name: string,
    letter: string,
    options: CallOptions = {},
  ): Answer<`delete_${K}_dead_letter`> {
    const path = this.#path(app, name, LETTERS, letter);
    return this.#calls.call<`delete_${K}_dead_letter`>("DELETE", path, options);
  }

  /** Sends a dead letter again. */
  retryDeadLetter(
    app: string,
    name: string,
    letter: string,
    options: CallOptions = {},
  ): Answer<`retry_${K}_dead_letter`> {
    const path = this.#path(app, name, LETTERS, letter, "retry");
    return this.#calls.call<`retry_${K}_dead_letter`>("POST", path, options);
  }

  #path(app: string, ...below: string[]): string {
    return pathText("app", app, this.#kind, ...below);
  }
}

const LETTERS = "deadLetter";
