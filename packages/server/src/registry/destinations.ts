/**
 * Destinations: creates, changes and deletes the webhooks or the sinks of apps.
 *
 * Each one is a document of its collection, with a random id. Each change is one transaction of the
 * registry's store, with its audit entry. The position of deliveries is not here: it is in the
 * store of the app, so that a backup has both the changes and how far they were delivered.
 */

import type { View } from "@bigpeer/engine/store";
import { type Operation, PeerError, stringifyJson, type ValueObject } from "@bigpeer/protocol";
import { DESTINATIONS_MAX } from "../limits/limits.ts";
import { isName } from "../validation/name.ts";
import { checkApp, nameOfApp, targetOfApp } from "./apps.ts";
import { type Author, changedFields } from "./audit-log.ts";
import {
  type DeliveryStart,
  type Destination,
  type DestinationChange,
  type Selection,
  storedDestination,
} from "./destination.ts";
import { checkName } from "./name-check.ts";
import { checkRoom, RegistryFault, type RegistryTitle, shown } from "./registry-fault.ts";
import { countBy, documentsBy, type RegistryIndex } from "./registry-index.ts";
import { noChange, type RegistryStore } from "./registry-store.ts";

type Random = (size: number) => Uint8Array;

/** What webhooks and sinks differ in. */
export interface DestinationKind<T extends Destination, C extends DestinationChange> {
  readonly noun: "webhook" | "sink";
  /** By app and name. */
  readonly index: RegistryIndex;
  readonly notFound: RegistryTitle;
  readonly notUnique: RegistryTitle;
  /** Checks a change of one, or a new one. Throws InvalidRequest. */
  readonly changed: (
    before: T | undefined,
    change: C,
    random: Random,
  ) => Omit<T, keyof Destination> & Selection;
  /** Reads a document; undefined when it has another form. */
  readonly stored: (base: Destination, fields: ValueObject) => T | undefined;
}

const ID_SIZE = 9;

export class Destinations<T extends Destination, C extends DestinationChange> {
  readonly #store: RegistryStore;
  readonly #kind: DestinationKind<T, C>;
  readonly #random: Random;

  constructor(store: RegistryStore, kind: DestinationKind<T, C>, random: Random) {
    this.#store = store;
    this.#kind = kind;
    this.#random = random;
  }

  get kind(): "webhook" | "sink" {
    return this.#kind.noun;
  }

  /** Those of an app in the order of their names. */
  list(appId: string): readonly T[] {
    return this.#store.read((view) => this.#inApp(view, appId));
  }

  /** Those of all apps. */
  all(): readonly T[] {
    const documents = this.#store.read((view) => [...view.scan(this.#kind.index.collection)]);
    return documents.map(({ id, fields }) => this.#read(id, fields));
  }

  /** Throws WebhookNotFound or SinkNotFound. */
  get(appId: string, name: string): T {
    return this.#store.read((view) => this.#named(view, appId, name));
  }

  /** Its deliveries begin at the position `cursor`. */
  create(
    appId: string,
    given: C & { readonly name: string },
    cursor: string,
    author: Author,
  ): Promise<T> {
    const { noun } = this.#kind;
    const { name } = given;
    const fixed = { id: this.#drawId(), appId, name, isPaused: false };
    const start = { id: this.#drawId(), cursor };
    const content = this.#kind.changed(undefined, given, this.#random);
    return this.#store.change(author, (view) => {
      checkApp(view, appId);
      this.#checkNew(view, appId, name);
      const made = { ...fixed, start, ...content } as unknown as T;
      const audited = { action: `${noun}.create`, target: this.#targetOf(view, made) };
      return { operations: [this.#put(made)], actions: [audited], result: made };
    });
  }

  update(appId: string, name: string, change: C, author: Author): Promise<T> {
    return this.#change({ appId, name }, "update", author, (before) => {
      const { id, isPaused, start } = before;
      const content = this.#kind.changed(before, change, this.#random);
      return { id, appId, name, isPaused, start, ...content } as unknown as T;
    });
  }

  pause(appId: string, name: string, author: Author): Promise<T> {
    const paused = (before: T): T => ({ ...before, isPaused: true });
    return this.#change({ appId, name }, "pause", author, paused);
  }

  /** Deliveries go on; at the position `cursor`, or where they stopped. */
  resume(appId: string, name: string, cursor: string | undefined, author: Author): Promise<T> {
    const start: DeliveryStart = {
      id: this.#drawId(),
      ...(cursor !== undefined && { cursor }),
    };
    return this.#change({ appId, name }, "resume", author, (before) => {
      return { ...before, isPaused: false, start };
    });
  }

  remove(appId: string, name: string, author: Author): Promise<void> {
    return this.#store.change(author, (view) => {
      const found = this.#named(view, appId, name);
      const target = this.#targetOf(view, found);
      return {
        operations: [{ kind: "delete", collection: this.#kind.index.collection, id: found.id }],
        actions: [{ action: `${this.#kind.noun}.delete`, target }],
        result: undefined,
      };
    });
  }

  #change(
    { appId, name }: Pick<Destination, "appId" | "name">,
    verb: string,
    author: Author,
    change: (before: T) => T,
  ): Promise<T> {
    return this.#store.change(author, (view) => {
      const before = this.#named(view, appId, name);
      const after = change(before);
      const fields = changedFields(fieldsOf(before), fieldsOf(after));
      if (fields.length === 0) return noChange(before);
      const target = this.#targetOf(view, after);
      const detail = fields.join(", ");
      return {
        operations: [this.#put(after)],
        actions: [{ action: `${this.#kind.noun}.${verb}`, target, detail }],
        result: after,
      };
    });
  }

  #named(view: View, appId: string, name: string): T {
    const [found] = isName(name) ? this.#inApp(view, appId, name) : [];
    if (found !== undefined) return found;
    const { noun, notFound } = this.#kind;
    throw new RegistryFault(notFound, `there is no ${noun} named ${shown(name)} in this app`);
  }

  #inApp(view: View, appId: string, ...name: string[]): readonly T[] {
    const documents = documentsBy(view, this.#kind.index, appId, ...name);
    return documents.map(({ id, fields }) => this.#read(id, fields));
  }

  #checkNew(view: View, appId: string, name: string): void {
    const { noun, index, notUnique } = this.#kind;
    checkName(name, `a ${noun}`);
    if (countBy(view, index, appId, name) > 0) {
      throw new RegistryFault(notUnique, `the app has a ${noun} with the name ${shown(name)}`);
    }
    const count = countBy(view, index, appId);
    checkRoom(count + 1, DESTINATIONS_MAX, `${noun}s of an app`);
  }

  #read(id: Parameters<typeof storedDestination>[0], fields: ValueObject): T {
    const base = storedDestination(id, fields);
    const found = base && this.#kind.stored(base, fields);
    if (found !== undefined) return found;
    const message = `expected a ${this.#kind.noun} with the id ${stringifyJson(id)} in the registry`;
    throw new PeerError("store.corrupt", message);
  }

  /** Replaces the whole document. */
  #put(destination: T): Operation {
    const { collection } = this.#kind.index;
    const fields = fieldsOf(destination);
    return { kind: "insert", collection, id: destination.id, fields, clean: true };
  }

  #targetOf(view: View, { appId, name }: T): string {
    return `${targetOfApp(nameOfApp(view, appId) ?? appId)}/${this.#kind.noun}/${name}`;
  }

  #drawId(): string {
    return Buffer.from(this.#random(ID_SIZE)).toString("base64url");
  }
}

/** All but the id, which is that of the document. */
function fieldsOf(destination: Destination): ValueObject {
  const fields = destination as unknown as ValueObject;
  return Object.fromEntries(Object.entries(fields).filter(([name]) => name !== "id"));
}
