/**
 * Device endpoints: `/sync/peers` lists the peers connected to the app (W1). `/sync/explain`
 * explains why a document is or is not on one of them (W5). Both need permission to read
 * everything.
 */

import { setImmediate } from "node:timers/promises";
import { peerRow, type SyncServer } from "@bigpeer/engine/sync";
import { encodeCbor, PeerError, parseJson, type Value } from "@bigpeer/protocol";
import { unauthorized } from "../auth/unauthorized.ts";
import { type Answer, createAnswer } from "../http/answer.ts";
import { Refusal } from "../http/refusal.ts";
import { type Endpoint, messageBody, type Place } from "../http/router.ts";
import { PEERS_PAGE_MAX, PEERS_PAGE_SIZE_MAX } from "../limits/limits.ts";
import { reportsOf } from "../sync/device-rows.ts";
import type { Caller, DataGate } from "./data-gate.ts";
import type { OperatedApp } from "./operation.ts";

export interface DeviceHost {
  readonly gate: Pick<DataGate<OperatedApp>, "authenticate" | "failureOf">;
  /** Sync server of an app; undefined when no peer has connected since the app was opened. */
  readonly syncOf: (appId: string) => Pick<SyncServer, "presence"> | undefined;
}

/** Time slice for listing peers, in milliseconds; some have a thousand subscriptions. */
const TURN_MS = 5;

export const PEERS_PATH = "/sync/peers";
export const EXPLAIN_PATH = "/sync/explain";

export function deviceEndpoints(host: DeviceHost): Endpoint[] {
  return [
    deviceEndpoint(host, "sync_peers", PEERS_PATH, ({ app }, { query }) =>
      shownPeers(host.syncOf(app.id), pageIn(query)),
    ),
    deviceEndpoint(host, "sync_explain", EXPLAIN_PATH, explain),
  ];
}

type Work = (caller: Caller<OperatedApp>, place: Place, requestId: string) => Promise<Value>;

function deviceEndpoint({ gate }: DeviceHost, name: string, path: string, work: Work): Endpoint {
  return {
    name,
    path,
    methods: ["GET"],
    failureBody: messageBody,
    answer: async (request, place): Promise<Answer> => {
      const { use, app, credential } = await gate.authenticate(request, place);
      try {
        if (credential.authority?.isReadingAll === false) {
          throw unauthorized("the credential lacks the permission for this operation");
        }
        return createAnswer(200, await work({ app, credential }, place, request.id));
      } catch (error) {
        throw gate.failureOf(error, app.id);
      } finally {
        use.release();
      }
    },
  };
}

interface PeerPage {
  readonly limit: number;
  /** Session after which the page begins; 0 for the first page. */
  readonly after: number;
}

function pageIn(query: string): PeerPage {
  const parameters = new URLSearchParams(query);
  return {
    limit: numberIn(parameters, "limit", PEERS_PAGE_MAX) ?? PEERS_PAGE_MAX,
    after: numberIn(parameters, "after", Number.MAX_SAFE_INTEGER) ?? 0,
  };
}

function numberIn(parameters: URLSearchParams, name: string, max: number): number | undefined {
  if (!parameters.has(name)) return undefined;
  const text = parameterIn(parameters, name);
  const number = /^\d{1,16}$/.test(text) ? Number(text) : 0;
  if (number >= 1 && number <= max) return number;
  const found = text.slice(0, 40);
  throw new Refusal(400, `expected ${name} to be a number from 1 to ${max}, found "${found}"`);
}

/** One page, bounded in number of peers and in bytes (W8). */
async function shownPeers(
  sync: Pick<SyncServer, "presence"> | undefined,
  { limit, after }: PeerPage,
): Promise<Value> {
  const peers: Value[] = [];
  let size = 0;
  let last = after;
  let turnMs = performance.now();
  for (const report of sync === undefined ? [] : reportsOf(sync, after)) {
    if (peers.length === limit || size > PEERS_PAGE_SIZE_MAX) return { peers, next: last };
    const { fields } = peerRow(report);
    peers.push(fields);
    size += encodeCbor(fields).length;
    last = report.session;
    if (performance.now() - turnMs < TURN_MS) continue;
    await setImmediate();
    turnMs = performance.now();
  }
  return { peers };
}

/** Runs the statement EXPLAIN SYNC, which also checks the permission. */
async function explain(
  { app, credential }: Caller<OperatedApp>,
  { query }: Place,
  requestId: string,
): Promise<Value> {
  const parameters = new URLSearchParams(query);
  const collection = parameterIn(parameters, "collection");
  const id = idOf(parameterIn(parameters, "id"));
  const peer = parameterIn(parameters, "peer");
  const { items } = await app.statements.start({
    statement: `EXPLAIN SYNC ${quoted(collection)}, :id FOR :peer`,
    args: { id, peer },
    requestId,
    authority: credential.authority,
  });
  return { items };
}

function parameterIn(parameters: URLSearchParams, name: string): string {
  const given = parameters.getAll(name);
  const [text = ""] = given;
  if (given.length === 1 && text !== "") return text;
  const found = given.length > 1 ? "several" : "none";
  throw new Refusal(400, `expected the parameter ${name} in the address, found ${found}`);
}

/** Parses the id as JSON, so that every id can be given; any other text is the id itself. */
function idOf(text: string): Value {
  try {
    return parseJson(text);
  } catch (error) {
    if (error instanceof PeerError) return text;
    throw error;
  }
}

/** Quotes a name for the statement language. */
function quoted(name: string): string {
  return `\`${name.replaceAll("`", "``")}\``;
}
