/**
 * Quick start: the API key and the example commands that the first start provides.
 *
 * The first start draws an API key for the app `default`, writes it to `quickstart.json` in the
 * data folder, readable by its owner only, and shows two commands (H16). The file is written before
 * the key is added. So a crash in between leaves a text that does not work and is replaced at the
 * next start, never a key that no one knows. Later starts update the URLs in the file, and no
 * longer mention it when its key does not work. If you delete the file, the key stays valid and no
 * new one is created.
 */

import { chmodSync } from "node:fs";
import { join } from "node:path";
import { FULL_PERMISSIONS } from "@bigpeer/engine/query";
import { readJsonFile, writeJsonFile } from "@bigpeer/node";
import { getField, isObject, PeerError, type ValueObject } from "@bigpeer/protocol";
import { QUICKSTART_FILE } from "../config/data-folder.ts";
import { describeError, type Log } from "../observability/log.ts";
import type { App } from "./app.ts";
import { DEFAULT_APP_NAME, DEVELOPMENT_PROVIDER, type Registry } from "./registry.ts";

/** Content of the file. */
export interface QuickstartContent {
  readonly appName: string;
  readonly appId: string;
  readonly apiKey: string;
  /** URL of the server, without `/api/v4/…`. */
  readonly dataUrl: string;
  /** URL of the management API; absent without one. */
  readonly managementUrl?: string;
  /** Link that opens the console and signs in; absent without one. */
  readonly consoleUrl?: string;
  /** Token for logins from this machine; absent when the app has no such provider. */
  readonly developmentToken?: string;
}

export interface Quickstart {
  readonly path: string;
  /** Content to show once; undefined after the first start. */
  readonly shown: QuickstartContent | undefined;
}

export interface QuickstartHost {
  readonly dataDir: string;
  readonly registry: Registry;
  readonly url: string;
  /** Undefined without a management API. */
  readonly managementUrl?: string | undefined;
  readonly log: Log;
}

const KEY_NAME = "quickstart";

/** Readable by its owner only. */
const FILE_MODE = 0o600;

/** Undefined when the file is gone or its key does not work. */
export async function prepareQuickstart(host: QuickstartHost): Promise<Quickstart | undefined> {
  const path = join(host.dataDir, QUICKSTART_FILE);
  // In a cluster, the node that evaluates the registry makes it.
  const { isFollowing } = host.registry.storeFolder.store;
  if (host.registry.keys.isUnused && !isFollowing)
    return { path, shown: await makeKey(path, host) };
  try {
    return refreshFile(path, host) ? { path, shown: undefined } : undefined;
  } catch (error) {
    const reason = error instanceof SyntaxError ? "it is not JSON" : describeError(error);
    host.log("warn", `${path} could not be brought up to date: ${reason}`);
    return undefined;
  }
}

/**
 * Two shell commands: one writes a document, one reads it back. Only on a terminal do they contain
 * the key. Elsewhere the output ends up in logs of services and containers, so they read the key
 * from the file.
 */
export function curlLines(
  { dataUrl, apiKey }: QuickstartContent,
  path: string,
  isTerminal: boolean,
): string[] {
  const key = isTerminal ? apiKey : `$(${readKey(path)})`;
  const authorization = `Authorization: Bearer ${key}`;
  const header = isTerminal ? quote(authorization) : `"${authorization}"`;
  const insert = {
    statement: "INSERT INTO tasks DOCUMENTS (:task)",
    args: { task: { title: "Water the plants", isDone: false } },
  };
  const select = { statement: "SELECT * FROM tasks" };
  return [insert, select].map((body) =>
    [
      "curl -sS",
      quote(`${dataUrl}/api/v4/store/execute`),
      `-H ${header}`,
      `-H ${quote("Content-Type: application/json")}`,
      `-d ${quote(JSON.stringify(body))}`,
    ].join(" "),
  );
}

async function makeKey(path: string, host: QuickstartHost): Promise<QuickstartContent> {
  const { registry, url, managementUrl } = host;
  const app = findApp(registry);
  const apiKey = registry.keys.draw();
  const developmentToken = findToken(app);
  const content = {
    appName: app.name,
    appId: app.id,
    apiKey,
    dataUrl: url,
    ...(managementUrl !== undefined && { managementUrl }),
    ...(developmentToken !== undefined && { developmentToken }),
  };
  writeJsonFile(path, content);
  const given = { appId: app.id, name: KEY_NAME, permissions: FULL_PERMISSIONS };
  await registry.keys.add(apiKey, given);
  return content;
}

function findApp({ apps }: Registry): App {
  const app = apps.find(DEFAULT_APP_NAME) ?? apps.get(apps.names()[0]?.id ?? "");
  if (app === undefined) throw new PeerError("store.corrupt", "expected an app in the registry");
  return app;
}

function findToken({ authProviders }: App): string | undefined {
  const provider = authProviders[DEVELOPMENT_PROVIDER];
  return provider?.type === "anonymous" ? provider.sharedToken : undefined;
}

/** Updates the URLs and the mode of the file. Returns false without a file or a working key. */
function refreshFile(path: string, { registry, url, managementUrl, log }: QuickstartHost): boolean {
  const content = readJsonFile(path);
  if (content === undefined) return false;
  if (!isObject(content)) throw new PeerError("json.syntax", "expected an object");
  const isRight =
    getField(content, "dataUrl") === url && getField(content, "managementUrl") === managementUrl;
  if (isRight) chmodSync(path, FILE_MODE);
  else writeJsonFile(path, withAddresses(content, url, managementUrl));
  const apiKey = getField(content, "apiKey");
  if (typeof apiKey === "string" && registry.keys.opens(apiKey)) return true;
  log("info", `the key in ${path} is not valid any more: the key or its app was deleted`);
  return false;
}

function withAddresses(
  content: ValueObject,
  dataUrl: string,
  managementUrl: string | undefined,
): ValueObject {
  const { managementUrl: _, ...rest } = content;
  return { ...rest, dataUrl, ...(managementUrl !== undefined && { managementUrl }) };
}

/** Shell command that prints the key in a file. */
function readKey(path: string): string {
  return `sed -n 's/.*"apiKey": *"\\([^"]*\\)".*/\\1/p' ${quote(path)}`;
}

function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
