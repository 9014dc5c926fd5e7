/**
 * `bigpeer cluster status`: asks a node for the state of its cluster and prints it.
 */

import { getField, isArray, isObject, PeerError, parseJson, type Value } from "@bigpeer/protocol";
import type { Config, Environment } from "../config/config.ts";

export interface StatusRequest {
  readonly config: Pick<Config, "namespace" | "name" | "managementPort" | "adminToken">;
  /** Of the management API; by default that of a server on this machine. */
  readonly url: string | undefined;
  readonly env: Environment;
  readonly isJson: boolean;
}

/** Returns the text to print. Rejects with PeerError if no node answers. */
export async function clusterStatusText(request: StatusRequest): Promise<string> {
  const text = await fetchStatus(request);
  return request.isJson ? `${text.trim()}\n` : shown(parseJson(text));
}

async function fetchStatus({ config, url, env }: StatusRequest): Promise<string> {
  const { namespace, name, managementPort = 8081, adminToken } = config;
  const base = url ?? env["BIGPEER_MANAGEMENT_URL"] ?? `http://127.0.0.1:${managementPort}`;
  const address = `${base.replace(/\/$/, "")}/namespace/${namespace}/bigPeer/${name}/cluster`;
  let answer: Response;
  try {
    answer = await fetch(address, {
      headers: adminToken === undefined ? {} : { authorization: `Bearer ${adminToken}` },
    });
  } catch (cause) {
    const message = `expected the management API of a node at ${base}, found no answer`;
    throw new PeerError("store.busy", message, { hint: "name it with --url", cause });
  }
  const text = await answer.text();
  if (answer.status === 200) return text;
  throw new PeerError("store.busy", `${address} answered ${answer.status}: ${text.trim()}`);
}

function shown(status: Value): string {
  const cluster = isObject(status) ? status["cluster"] : null;
  if (typeof cluster !== "string") return "this server is not in a cluster\n";
  const nodes = rowsOf(status, "nodes");
  const newest = newestTransactions(nodes);
  const lines = [`cluster ${cluster}`];
  for (const node of nodes) {
    const isAlive = getField(node, "isAlive") === true;
    const state = isAlive ? `age ${textOf(node, "ageSeconds")} s` : "not heard";
    const version = `version ${textOf(node, "version")}`;
    lines.push("", `node ${textOf(node, "node")}  ${textOf(node, "url")}  ${version}  ${state}`);
    for (const store of rowsOf(node, "stores")) lines.push(storeLine(store, newest));
  }
  return `${lines.join("\n")}\n`;
}

function storeLine(store: Row, newest: ReadonlyMap<string, number>): string {
  const name = textOf(store, "store");
  const transaction = Number(textOf(store, "transactionId"));
  const lag = (newest.get(name) ?? transaction) - transaction;
  return `  ${name.padEnd(36)}  ${textOf(store, "role").padEnd(10)}  transaction ${transaction}  lag ${lag}`;
}

type Row = { readonly [name: string]: Value };

/** The last transaction of each store on any node. */
function newestTransactions(nodes: readonly Row[]): Map<string, number> {
  const newest = new Map<string, number>();
  for (const store of nodes.flatMap((node) => rowsOf(node, "stores"))) {
    const name = textOf(store, "store");
    newest.set(name, Math.max(newest.get(name) ?? 0, Number(textOf(store, "transactionId"))));
  }
  return newest;
}

function rowsOf(value: Value, name: string): Row[] {
  const list = isObject(value) ? getField(value, name) : undefined;
  return list !== undefined && isArray(list) ? list.filter(isObject) : [];
}

function textOf(row: Row, name: string): string {
  const value = getField(row, name);
  return typeof value === "string" || typeof value === "number" ? String(value) : "";
}
