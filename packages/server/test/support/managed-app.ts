/**
 * An app of a server that is killed again and again. It goes through changes in a circle, and knows
 * after each restart what must be there.
 *
 * Whether the change that was not answered was made is told by the audit log; then the app must be
 * as it is after that change, and else as it was before.
 */

import { parseJson } from "@bigpeer/protocol";
import { expect } from "vitest";
import {
  CHANGES,
  CIRCLE,
  guestsConfig,
  type ManagedChange,
  type ManagedModel,
  NO_APP,
  replicationContent,
} from "./managed-change.ts";
import { BIG_PEER } from "./management-api.ts";
import type { Served } from "./served-folder.ts";

export interface ManagedReply {
  readonly status: number;
  readonly body: unknown;
}

/** Undefined when the server was killed before it answered. */
export function askManagement(
  { managementUrl = "" }: Served,
  method: string,
  path: string,
  body?: object,
): Promise<ManagedReply | undefined> {
  return askJson(managementUrl + BIG_PEER + path, { method, ...(body && { body }) });
}

interface JsonRequest {
  readonly method: string;
  readonly body?: object;
  readonly token?: string;
}

async function askJson(
  url: string,
  { method, body, token }: JsonRequest,
): Promise<ManagedReply | undefined> {
  try {
    const response = await fetch(url, {
      method,
      headers: {
        ...(body && { "content-type": "application/json" }),
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
      },
      ...(body && { body: JSON.stringify(body) }),
    });
    return { status: response.status, body: parseJson(await response.text()) };
  } catch {
    return undefined;
  }
}

export class ManagedApp {
  readonly #name: string;
  #model = NO_APP;
  /** In the circle. */
  #position = 0;
  #number = 0;
  #appId = "";
  #session: string | undefined;
  /** Of a key, and opens nothing any more. */
  #deadText: string | undefined;
  readonly #actions: string[] = [];
  #pending: ManagedChange | undefined;
  /** How many changes were not answered and had been made. */
  madeUnanswered = 0;

  constructor(name: string) {
    this.#name = name;
  }

  /** All that was done, as the audit log calls it. */
  get actions(): readonly string[] {
    return this.#actions.map((audited) => audited.split(" ", 1)[0] ?? "");
  }

  /** Changes until the server is gone. */
  async work(served: Served, onAnswer: () => void): Promise<void> {
    for (;;) {
      const name = CIRCLE[this.#position] ?? "createApp";
      const { model, number } = { model: this.#model, number: ++this.#number };
      const context = { name: this.#name, appId: this.#appId, model, number };
      const change = CHANGES[name](context);
      this.#pending = change;
      const reply = await askManagement(served, change.method, change.path, change.body);
      if (reply === undefined) return;
      if (name === "restoreApp" && reply.status === 404) this.#giveUp();
      else this.#finish(change, expectSuccess(reply, change.audited));
      onAnswer();
      if (!(await this.#logIn(served))) return;
    }
  }

  /** After a restart. `audit` has the deeds of all apps, the oldest first. */
  async check(served: Served, audit: readonly string[]): Promise<void> {
    const found = audit.filter((audited) => `${audited}/`.includes(` app/${this.#name}/`));
    const pending = this.#pending;
    this.#pending = undefined;
    if (pending !== undefined && found.length > this.#actions.length) {
      this.#finish(pending, undefined);
      this.madeUnanswered++;
    }
    expectSame(found, this.#actions, `the audit log of ${this.#name}`);
    const last = `${this.#name} after ${this.#actions.at(-1)}`;
    expectSame(await this.#seen(served), expectedOf(this.#model, this.#name), last);
    await this.#checkCredentials(served, last);
  }

  #finish(change: ManagedChange, answer: unknown): void {
    const before = this.#model;
    this.#model = change.after(answer);
    this.#actions.push(change.audited);
    this.#position = (this.#position + 1) % CIRCLE.length;
    this.#pending = undefined;
    const text = before.key?.text;
    if (text !== undefined && text !== this.#model.key?.text) this.#deadText = text;
    const { appId } = (answer ?? {}) as { readonly appId?: string };
    if (appId !== undefined) this.#appId = appId;
    // Another app of the same name has other sessions.
    if (change.audited.startsWith("app.create ")) this.#session = undefined;
  }

  /** The data of the deleted app went before it was to come back. */
  #giveUp(): void {
    this.#pending = undefined;
    this.#position = 0;
    this.#model = NO_APP;
    this.#session = undefined;
  }

  /** Gets a session as soon as there can be one. False when the server is gone. */
  async #logIn({ url }: Served): Promise<boolean> {
    const { isThere, guests } = this.#model;
    if (!isThere || guests === undefined || this.#session !== undefined) return true;
    const body = { provider: "guests", token: "open sesame, please" };
    const reply = await askJson(`${url}/${this.#appId}/auth/login`, { method: "POST", body });
    if (reply === undefined) return false;
    const { accessToken } = expectSuccess(reply, "login") as { readonly accessToken: string };
    this.#session = accessToken;
    this.#model = { ...this.#model, rotations: 0 };
    return true;
  }

  /** What the server shows of the app. */
  async #seen(served: Served): Promise<unknown> {
    const get = async (path: string): Promise<ManagedReply> => {
      const reply = await askManagement(served, "GET", `/app/${this.#name}${path}`);
      if (reply === undefined) throw new Error("expected an answer");
      return reply;
    };
    const app = await get("");
    if (app.status === 404)
      return { app: "none", replication: (await get(`/bigPeerReplication/${this.#name}`)).status };
    const { appId, ...shown } = app.body as { readonly appId: string };
    this.#appId = appId;
    return {
      app: shown,
      settings: (await get("/settings")).body,
      keys: (await get("/apiKey")).body,
      replications: (await get("/bigPeerReplication")).body,
    };
  }

  async #checkCredentials(served: Served, about: string): Promise<void> {
    const { isThere, key, guests, rotations } = this.#model;
    const isOpen = isThere && guests !== undefined && rotations < 2;
    if (this.#session !== undefined) {
      expectSame(await opens(served, this.#session), isOpen, `the session of ${about}`);
    }
    if (key?.text !== undefined) {
      expectSame(await opens(served, key.text), true, `the key of ${about}`);
    }
    if (this.#deadText !== undefined) {
      expectSame(await opens(served, this.#deadText), false, `the old key of ${about}`);
    }
  }
}

/** Whether a token is one of the data API. */
async function opens({ url }: Served, token: string): Promise<boolean> {
  const body = { collection: "cars", query: "true" };
  const reply = await askJson(`${url}/api/v4/store/count`, { method: "POST", body, token });
  // Nobody has written to the collection.
  expect([400, 401]).toContain(reply?.status);
  return reply?.status === 400;
}

function expectSuccess({ status, body }: ManagedReply, about: string): unknown {
  expect(status, `${about}: ${JSON.stringify(body)}`).toBe(200);
  return body;
}

function expectSame(found: unknown, expected: unknown, about: string): void {
  expect(found, about).toEqual(expected);
}

function expectedOf(model: ManagedModel, name: string): unknown {
  if (!model.isThere) return { app: "none", replication: 404 };
  const { guests, hasHook, isStrict, key, replication } = model;
  const list = (data: readonly unknown[]): unknown => {
    return { data, meta: { page: 1, size: data.length, totalPages: 1 } };
  };
  const everything = { everything: true, queriesByCollection: {} };
  const permission = { remoteQuery: false, read: everything, write: everything };
  return {
    app: {
      name,
      authProviders: {
        ...(guests !== undefined && { guests: shownGuests(guests, permission) }),
        ...(hasHook && {
          hook: { type: "tokenWebhook", webhookUrl: "https://shop.example.com/login" },
        }),
      },
    },
    settings: { strictV4: isStrict, unknownCollectionsAreEmpty: false },
    keys: list(key === undefined ? [] : [shownKey(key.number, permission)]),
    replications: list(
      replication === undefined ? [] : [{ name, ...replicationContent(replication) }],
    ),
  };
}

function shownGuests(number: number, permission: unknown): unknown {
  const { sharedToken: _, ...shown } = guestsConfig(number) as { readonly sharedToken: string };
  return { ...shown, loopbackOnly: false, permission };
}

function shownKey(number: number, permissions: unknown): unknown {
  return {
    name: "key",
    description: String(number),
    permissions,
    expiresAt: null,
    createdAt: expect.any(String),
    lastUsedAt: expect.toBeOneOf([null, expect.any(String)]),
  };
}
