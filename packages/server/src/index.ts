/**
 * The Big Peer server as a library: what the `bigpeer` program is made of.
 */

export {
  type Config,
  type CorsOrigins,
  type Environment,
  type LogFormat,
  readConfig,
  SETTINGS,
  type Setting,
  type TlsFiles,
} from "./config.ts";
export { type LmdbKeyValue, type LmdbOptions, openLmdb } from "./lmdb/lmdb-key-value.ts";
export { createLog, type Log, type LogFields, type LogLevel, type LogOptions } from "./log.ts";
export { nodePlatform } from "./node-platform.ts";
export type { OpenApp } from "./open-app.ts";
export type { Quickstart, QuickstartContent } from "./quickstart.ts";
export type { App, AppSettings } from "./registry.ts";
export { type RunningServer, type ServerHost, startServer } from "./server.ts";
export type { StoreFolder } from "./store-folder.ts";
