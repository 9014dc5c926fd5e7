/**
 * The file `quickstart.json` that the first start of a server writes into its data folder.
 */

import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import type { ProgramHost } from "../program/host.ts";
import type { Profile } from "./profiles.ts";

export interface QuickstartFile extends Profile {
  readonly path: string;
  readonly appName?: string | undefined;
  readonly appId?: string | undefined;
}

/** Data folders where a server of this folder has its data. */
const FOLDERS = ["data", ".bigpeer"];

/** The first that is there; undefined without one. */
export function findQuickstart({ env, folder }: ProgramHost): QuickstartFile | undefined {
  const configured = env["BIGPEER_DATA_DIR"];
  const folders = configured === undefined || configured === "" ? FOLDERS : [configured];
  for (const each of folders) {
    const found = readQuickstart(join(resolve(folder, each), "quickstart.json"));
    if (found !== undefined) return found;
  }
  return undefined;
}

export function readQuickstart(path: string): QuickstartFile | undefined {
  let content: { readonly [name: string]: unknown };
  try {
    content = JSON.parse(readFileSync(path, "utf8")) as typeof content;
  } catch {
    // Absent, or of another program.
    return undefined;
  }
  const textOf = (name: string): string | undefined => {
    const value = content[name];
    return typeof value === "string" ? value : undefined;
  };
  const url = textOf("dataUrl");
  if (url === undefined) return undefined;
  const managementUrl = textOf("managementUrl");
  return {
    path,
    url,
    key: textOf("apiKey"),
    managementUrl,
    appName: textOf("appName"),
    appId: textOf("appId"),
  };
}
