/**
 * Quick start: what the first start leaves for whoever wants to try the server.
 *
 * The first start draws an API key for the app, writes it to `quickstart.json` in the data folder,
 * readable by its owner alone, and shows two commands to paste. The file is written before the key
 * is added: a crash in between leaves a text that opens nothing and is replaced at the next start,
 * never a key that nobody knows. Later starts correct the address in the file. Whoever deletes the
 * file keeps the key and is not given another.
 */

import { chmodSync } from "node:fs";
import { join } from "node:path";
import { getField, isObject, PeerError, type ValueObject } from "@bigpeer/protocol";
import { FULL_PERMISSIONS } from "./api-keys.ts";
import { QUICKSTART_FILE } from "./data-folder.ts";
import { readJsonFile, writeJsonFile } from "./json-file.ts";
import { describeError, type Log } from "./log.ts";
import { type App, DEFAULT_APP_NAME, type Registry } from "./registry.ts";

/** What is in the file. */
export interface QuickstartContent {
  readonly appName: string;
  readonly appId: string;
  readonly apiKey: string;
  /** The address of the server; `/api/v4/…` follows it. */
  readonly dataUrl: string;
}

export interface Quickstart {
  readonly path: string;
  /** What to show once; undefined after the first start. */
  readonly shown: QuickstartContent | undefined;
}

export interface QuickstartHost {
  readonly dataDir: string;
  readonly registry: Registry;
  readonly url: string;
  readonly log: Log;
}

/** Only its owner may read a key. */
const FILE_MODE = 0o600;

/** Undefined when the file is gone, or is of no use. */
export async function prepareQuickstart(host: QuickstartHost): Promise<Quickstart | undefined> {
  const path = join(host.dataDir, QUICKSTART_FILE);
  if (host.registry.keys.count() === 0) return { path, shown: await makeKey(path, host) };
  try {
    return refreshFile(path, host.url) ? { path, shown: undefined } : undefined;
  } catch (error) {
    const reason = error instanceof SyntaxError ? "it is not JSON" : describeError(error);
    host.log("warn", `${path} could not be brought up to date: ${reason}`);
    return undefined;
  }
}

/** Two lines to paste into a shell: one writes a document, one reads it back. */
export function curlLines({ dataUrl, apiKey }: QuickstartContent): string[] {
  const insert = {
    statement: "INSERT INTO tasks DOCUMENTS (:task)",
    args: { task: { title: "Water the plants", isDone: false } },
  };
  const select = { statement: "SELECT * FROM tasks" };
  return [insert, select].map((body) =>
    [
      "curl -sS",
      quote(`${dataUrl}/api/v4/store/execute`),
      `-H ${quote(`Authorization: Bearer ${apiKey}`)}`,
      `-H ${quote("Content-Type: application/json")}`,
      `-d ${quote(JSON.stringify(body))}`,
    ].join(" "),
  );
}

async function makeKey(
  path: string,
  { registry, url }: QuickstartHost,
): Promise<QuickstartContent> {
  const app = findApp(registry.apps());
  const apiKey = registry.keys.draw();
  const content = { appName: app.name, appId: app.id, apiKey, dataUrl: url };
  writeJsonFile(path, content, FILE_MODE);
  await registry.keys.add(apiKey, { appId: app.id, permissions: FULL_PERMISSIONS });
  return content;
}

function findApp(apps: readonly App[]): App {
  const app = apps.find(({ name }) => name === DEFAULT_APP_NAME) ?? apps[0];
  if (app === undefined) throw new PeerError("store.corrupt", "expected an app in the registry");
  return app;
}

/** Corrects the address and who may read the file. False when there is no file. */
function refreshFile(path: string, url: string): boolean {
  const content = readJsonFile(path);
  if (content === undefined) return false;
  if (!isObject(content)) throw new PeerError("json.syntax", "expected an object");
  const changed: ValueObject = { ...content, dataUrl: url };
  if (getField(content, "dataUrl") === url) chmodSync(path, FILE_MODE);
  else writeJsonFile(path, changed, FILE_MODE);
  return true;
}

function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
