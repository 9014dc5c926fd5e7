/**
 * Big Peer server as a library: the public API of the package that the `bigpeer` program uses.
 */

export type { OpenApp } from "./apps/open-app.ts";
export {
  type Config,
  type CorsOrigins,
  type Environment,
  type LogFormat,
  readConfig,
  type TlsFiles,
} from "./config.ts";
export { createLog, type Log, type LogFields, type LogLevel, type LogOptions } from "./log.ts";
export type { Quickstart, QuickstartContent } from "./quickstart.ts";
export type { App, AppSettings } from "./registry/app.ts";
export { type RunningServer, type ServerHost, startServer } from "./server.ts";
export { SETTINGS, type Setting } from "./settings.ts";
