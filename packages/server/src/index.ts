/**
 * The Big Peer server as a library: what the `bigpeer` program is made of.
 */

export { type Config, type Environment, readConfig, SETTINGS, type Setting } from "./config.ts";
export { type LmdbKeyValue, type LmdbOptions, openLmdb } from "./lmdb/lmdb-key-value.ts";
export { createLog, type Log, type LogLevel } from "./log.ts";
export { nodePlatform } from "./node-platform.ts";
export type { OpenApp } from "./open-app.ts";
export type { Quickstart, QuickstartContent } from "./quickstart.ts";
export type { App } from "./registry.ts";
export { type RunningServer, type ServerHost, startServer } from "./server.ts";
export type { StoreFolder } from "./store-folder.ts";
