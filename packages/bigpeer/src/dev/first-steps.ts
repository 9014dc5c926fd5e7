/**
 * First steps: what `bigpeer dev` prints about its server: the addresses, a `.env` block and a
 * program of six lines.
 */

import type { Style } from "../terminal/style.ts";

export interface Started {
  readonly url: string;
  readonly managementUrl: string | undefined;
  /** The link that signs in to the console. */
  readonly consoleUrl: string | undefined;
  readonly key: string;
  readonly appId: string;
  readonly folder: string;
  readonly version: string;
  readonly seconds: number;
}

const PROGRAM = `import { openPeer } from "@bigpeer/peer";
const { BIGPEER_APP_ID: appId, BIGPEER_URL: url, BIGPEER_KEY: token } = process.env;
const peer = await openPeer({ appId, url, token, memory: true });
peer.sync.registerSubscription("SELECT * FROM tasks");
peer.store.registerObserver("SELECT * FROM tasks", ({ items }) => console.log(items.length));
peer.sync.start();`;

/** The names that the other commands and the program below read. */
export function environmentBlock({ url, managementUrl, key, appId }: Started): string {
  const lines = [
    `BIGPEER_URL=${url}`,
    `BIGPEER_KEY=${key}`,
    `BIGPEER_APP_ID=${appId}`,
    ...(managementUrl === undefined ? [] : [`BIGPEER_MANAGEMENT_URL=${managementUrl}`]),
  ];
  return lines.join("\n");
}

export function firstSteps(started: Started, style: Style): string {
  const { url, managementUrl, consoleUrl, folder, version, seconds } = started;
  const heading = (text: string): string => style("bold", text);
  const addresses = [
    `  url     ${url}`,
    `  docs    ${url}/docs/`,
    `  api     ${url}/docs/api`,
    ...(managementUrl === undefined ? [] : [`  manage  ${managementUrl}`]),
    ...(consoleUrl === undefined ? [] : [`  console ${consoleUrl}`]),
    `  data    ${folder}`,
  ];
  return [
    `${heading(`Big Peer ${version}`)} is ready after ${seconds.toFixed(1)} s`,
    ...addresses,
    "",
    heading("# .env"),
    environmentBlock(started),
    "",
    heading("// first.mjs: npm install @bigpeer/peer && node --env-file=.env first.mjs"),
    PROGRAM,
    "",
    "",
  ].join("\n");
}
