/**
 * A real server with both APIs, and clients of it whose calls are noted by the operation of the
 * OpenAPI documents that they are.
 */

import { managementDocument } from "../../../server/src/openapi/management-document.ts";
import { openApiDocument } from "../../../server/src/openapi/openapi.ts";
import { AnswerSchema } from "../../../server/test/support/answer-schema.ts";
import { openDataApi } from "../../../server/test/support/data-api.ts";
import { BigPeerClient } from "../../src/client.ts";
import type { ClientOptions } from "../../src/options.ts";

export const ADMIN_TOKEN = "a-token-of-the-administrator";

const DOCUMENTS = [openApiDocument({ version: "" }), managementDocument({ version: "" })];

/** The operationIds of both documents. */
export const OPERATION_IDS: readonly string[] = DOCUMENTS.flatMap((document) =>
  Object.values(document["paths"] as Record<string, Record<string, { operationId: string }>>)
    .flatMap((item) => Object.values(item))
    .map(({ operationId }) => operationId),
);

const schemas = DOCUMENTS.map((document) => new AnswerSchema(document));

/** A request as the client sent it. */
export interface SentRequest {
  /** In one of the documents; undefined if it is in none. */
  readonly operation: string | undefined;
  readonly headers: Headers;
  readonly body: unknown;
}

export class RunningServer {
  readonly sent: SentRequest[] = [];
  readonly url: string;
  readonly managementUrl: string;
  readonly key: string;
  readonly appId: string;
  readonly developmentToken: string;

  private constructor(api: Awaited<ReturnType<typeof openDataApi>>) {
    const { server, quickstart } = api;
    this.url = server.url;
    this.managementUrl = server.managementUrl ?? "";
    this.key = quickstart.apiKey;
    this.appId = quickstart.appId;
    this.developmentToken = quickstart.developmentToken ?? "";
  }

  /** For all tests of a file. */
  static async start(): Promise<RunningServer> {
    return new RunningServer(await openDataApi({ managementPort: 0, adminToken: ADMIN_TOKEN }));
  }

  client(changes: Partial<ClientOptions> = {}): BigPeerClient {
    return new BigPeerClient({
      url: this.url,
      key: this.key,
      managementUrl: this.managementUrl,
      adminToken: ADMIN_TOKEN,
      fetch: (url, init) => {
        this.sent.push(sentRequest(url, init));
        return fetch(url, init);
      },
      ...changes,
    });
  }
}

function sentRequest(url: string, { method = "GET", headers, body }: RequestInit): SentRequest {
  const { pathname } = new URL(url);
  const local = pathname
    .replace(/^(?:\/[^/]+)?\/api\/v[45]/, "")
    .replace(/^\/namespace\/[^/]+\/bigPeer\/[^/]+/, "");
  const [operation] = schemas.flatMap((schema) => schema.operationAt(method, local) ?? []);
  return { operation, headers: new Headers(headers), body };
}
