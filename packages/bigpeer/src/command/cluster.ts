/**
 * `bigpeer cluster`: shows the state of a cluster, as a node sees it. The server takes a data folder
 * into a cluster.
 */

import type { ClusterStatus } from "@bigpeer/client";
import { getField, isArray, isObject, type Value } from "@bigpeer/protocol";
import { findAddresses, managementClient } from "../connection/addresses.ts";
import type { Call, CommandDefinition } from "../program/definition.ts";
import { Options } from "../program/options.ts";
import { MANAGEMENT, OUTPUT, own } from "./shared-options.ts";
import { foreign } from "./unreachable.ts";

export const CLUSTER_STATUS: CommandDefinition = {
  name: "status",
  meaning: "show the nodes of a cluster, which of them evaluates each app, and how far they lag",
  examples: ["cluster status", "cluster status --url http://node-b:8081 --format json"],
  groups: [
    own(
      { name: "url", argument: "URL", meaning: "management API of a node; as --management-url" },
      { name: "json", meaning: "as --format json" },
    ),
    MANAGEMENT,
    OUTPUT,
  ],
  run: status,
};

async function status({ options, host, output }: Call): Promise<void> {
  const { management } = managementClient(findAddresses(ownOptions(options), host), host);
  const found = checked(await management.getCluster({ signal: host.signal }));
  const isForPeople = output.format === "table" && !options.has("json");
  if (isForPeople) await output.write(shown(found));
  else await output.item(found, options.has("json") ? "json" : undefined);
}

/** The command calls no data API, so its --url is that of the management API. */
function ownOptions(options: Options): Options {
  const managementUrl = options.text("management-url") ?? options.text("url");
  const names = ["profile", "app"].map((name) => [name, options.text(name)] as const);
  return new Options(new Map([...names, ["management-url", managementUrl]]));
}

/** Another program at the address may answer 200 as well. */
function checked(answer: ClusterStatus): Value {
  const found = answer as unknown as Value;
  const cluster = isObject(found) ? found["cluster"] : undefined;
  const nodes = isObject(found) ? found["nodes"] : undefined;
  const isOurs = (cluster === null || typeof cluster === "string") && isArray(nodes ?? null);
  if (isOurs) return found;
  throw foreign("JSON without the nodes of a cluster");
}

function shown(found: Value): string {
  const cluster = isObject(found) ? found["cluster"] : null;
  if (typeof cluster !== "string") return "this server is not in a cluster\n";
  const nodes = rowsOf(found, "nodes");
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
