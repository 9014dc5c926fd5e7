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
} from "./config/config.ts";
export type { Setting } from "./config/setting.ts";
export { SETTINGS } from "./config/settings.ts";
export {
  createLog,
  type Log,
  type LogFields,
  type LogLevel,
  type LogOptions,
} from "./observability/log.ts";
export type { App, AppSettings } from "./registry/app.ts";
export type { Quickstart, QuickstartContent } from "./registry/quickstart.ts";
export { type RunningServer, type ServerHost, startServer } from "./server.ts";
