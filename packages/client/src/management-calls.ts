/**
 * Management calls: sends the requests of the management API.
 *
 * This API has no idempotency keys. GET, PUT and PATCH are repeated when no answer comes. POST and
 * DELETE are not: a second one would fail, or create a second secret.
 */

import { queryText } from "./address.ts";
import type { Operations } from "./generated/management-api.ts";
import { stringify } from "./json.ts";
import type { CallOptions } from "./options.ts";
import { readJson, readWithLists, type Send } from "./request.ts";

export type Name = keyof Operations;
export type Body<N extends Name> = Operations[N] extends { readonly request: infer R } ? R : never;
/** Streams and files have no answer in JSON. */
type Response<N extends Name> = Operations[N] extends { readonly response: infer R } ? R : never;
export type Answer<N extends Name> = Promise<Response<N>>;

/** Options of a list: which page. By default all entries; of an audit log the newest 100. */
export interface PageOptions extends CallOptions {
  /** From 1. */
  readonly page?: number | undefined;
  /** Entries of a page, up to 1,000. */
  readonly size?: number | undefined;
}

export class ManagementCalls {
  readonly #send: Send;

  constructor(send: Send) {
    this.#send = send;
  }

  list<N extends Name>(path: string, options: PageOptions): Answer<N> {
    const { page, size } = options;
    return this.#send<Response<N>>(
      {
        method: "GET",
        url: path + queryText({ page, size }),
        headers: {},
        isRepeatable: true,
        read: readWithLists("data"),
      },
      options,
    );
  }

  call<N extends Name>(
    method: string,
    path: string,
    options: CallOptions,
    body?: Body<N>,
  ): Answer<N> {
    const content = body === undefined ? undefined : stringify(body);
    const headers: Record<string, string> =
      content === undefined ? {} : { "content-type": "application/json" };
    const isRepeatable = method !== "POST" && method !== "DELETE";
    return this.#send<Response<N>>(
      { method, url: path, headers, body: content, isRepeatable, read: readJson },
      options,
    );
  }
}
