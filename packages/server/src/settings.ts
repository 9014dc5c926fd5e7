/**
 * The table of settings: what can be configured, under which names, and what holds when nothing is
 * said. Values are found and checked by config.ts; usage, documents and tests are made from here.
 */

export type SettingName =
  | "config"
  | "data-dir"
  | "namespace"
  | "name"
  | "port"
  | "host"
  | "tls-cert"
  | "tls-key"
  | "public-url"
  | "cors-origins"
  | "trusted-proxies"
  | "management-port"
  | "management-host"
  | "admin-token"
  | "replication-port"
  | "replication-host"
  | "replication-secret"
  | "replication-tls-cert"
  | "replication-tls-key"
  | "replication-tls-ca"
  | "app-idle"
  | "app-grace"
  | "statement-timeout"
  | "transaction-wait"
  | "webhook-timeout"
  | "remote-timeout"
  | "attachment-size-max"
  | "attachment-grace"
  | "sync-connections"
  | "log-level"
  | "log-format"
  | "accept-clock";

/** What a value is in a file of settings. `list` is a text as well; a `path` is of that file's folder. */
export type SettingType = "text" | "path" | "number" | "number or off" | "switch" | "list";

export interface Setting {
  /** Also its key in a file of settings. */
  readonly name: SettingName;
  /** Absent where a command line must not have it: it is seen by everybody on the machine. */
  readonly flag?: string;
  readonly env: string;
  readonly type: SettingType;
  /** What stands for the value in usage; a setting without one is a switch. */
  readonly argument?: string;
  /** As a flag would give it; empty for none. */
  readonly default: string;
  readonly meaning: string;
}

export interface SettingGroup {
  readonly title: string;
  readonly settings: readonly Setting[];
}

const IDENTITY: SettingGroup = {
  title: "What it is",
  settings: [
    {
      name: "config",
      flag: "--config",
      env: "BIGPEER_CONFIG",
      type: "path",
      argument: "FILE",
      default: "",
      meaning: "a JSON file with settings; flags and variables win over it",
    },
    {
      name: "data-dir",
      flag: "--data-dir",
      env: "BIGPEER_DATA_DIR",
      type: "path",
      argument: "DIR",
      default: "./data",
      meaning: "the folder that holds everything; made when it is absent",
    },
    {
      name: "namespace",
      flag: "--namespace",
      env: "BIGPEER_NAMESPACE",
      type: "text",
      argument: "LABEL",
      default: "default",
      meaning: "the namespace of this Big Peer in paths of the management API",
    },
    {
      name: "name",
      flag: "--name",
      env: "BIGPEER_NAME",
      type: "text",
      argument: "LABEL",
      default: "big-peer",
      meaning: "the name of this Big Peer in paths of the management API",
    },
  ],
};

const DATA_API: SettingGroup = {
  title: "The data API",
  settings: [
    {
      name: "port",
      flag: "--port",
      env: "BIGPEER_PORT",
      type: "number",
      argument: "N",
      default: "8080",
      meaning: "the port of the HTTP API; 0 picks a free one",
    },
    {
      name: "host",
      flag: "--host",
      env: "BIGPEER_HOST",
      type: "text",
      argument: "ADDRESS",
      default: "127.0.0.1",
      meaning: "the address to listen on; 0.0.0.0 for all",
    },
    {
      name: "tls-cert",
      flag: "--tls-cert",
      env: "BIGPEER_TLS_CERT",
      type: "path",
      argument: "FILE",
      default: "",
      meaning: "the certificate (PEM, with its chain) for HTTPS; together with --tls-key",
    },
    {
      name: "tls-key",
      flag: "--tls-key",
      env: "BIGPEER_TLS_KEY",
      type: "path",
      argument: "FILE",
      default: "",
      meaning: "the private key (PEM) of the certificate",
    },
    {
      name: "public-url",
      flag: "--public-url",
      env: "BIGPEER_PUBLIC_URL",
      type: "text",
      argument: "URL",
      default: "",
      meaning:
        "what clients put before /api/v4, for links in answers; else taken from each request",
    },
    {
      name: "cors-origins",
      flag: "--cors-origins",
      env: "BIGPEER_CORS_ORIGINS",
      type: "list",
      argument: "LIST",
      default: "loopback",
      meaning: "web pages that may call: origins with commas between, loopback, * for all, or none",
    },
    {
      name: "trusted-proxies",
      flag: "--trusted-proxies",
      env: "BIGPEER_TRUSTED_PROXIES",
      type: "list",
      argument: "LIST",
      default: "",
      meaning:
        "proxies whose X-Forwarded-For is believed: addresses and ranges (10.0.0.0/8) with commas between",
    },
  ],
};

const MANAGEMENT: SettingGroup = {
  title: "The management API",
  settings: [
    {
      name: "management-port",
      flag: "--management-port",
      env: "BIGPEER_MANAGEMENT_PORT",
      type: "number or off",
      argument: "N",
      default: "8081",
      meaning:
        "the port of the management API; the one behind --port unless that is 8080; 0 picks a free one, off leaves it away",
    },
    {
      name: "management-host",
      flag: "--management-host",
      env: "BIGPEER_MANAGEMENT_HOST",
      type: "text",
      argument: "ADDRESS",
      default: "127.0.0.1",
      meaning: "the address of the management API; any but loopback needs an admin token",
    },
    {
      name: "admin-token",
      env: "BIGPEER_ADMIN_TOKEN",
      type: "text",
      argument: "TEXT",
      default: "",
      meaning: "the bearer token that the management API asks for; at least 16 characters",
    },
  ],
};

const REPLICATION: SettingGroup = {
  title: "Links to other Big Peers",
  settings: [
    {
      name: "replication-port",
      flag: "--replication-port",
      env: "BIGPEER_REPLICATION_PORT",
      type: "number or off",
      argument: "N",
      default: "4040",
      meaning:
        "the port to which other Big Peers connect; the second behind --port unless that is 8080; open while there is a replication secret; 0 picks a free one, off leaves it away",
    },
    {
      name: "replication-host",
      flag: "--replication-host",
      env: "BIGPEER_REPLICATION_HOST",
      type: "text",
      argument: "ADDRESS",
      default: "127.0.0.1",
      meaning: "the address of the replication port; 0.0.0.0 for all",
    },
    {
      name: "replication-secret",
      env: "BIGPEER_REPLICATION_SECRET",
      type: "text",
      argument: "TEXT",
      default: "",
      meaning:
        "what Big Peers prove to each other that they know, for all apps without one of their own; at least 16 characters",
    },
    {
      name: "replication-tls-cert",
      flag: "--replication-tls-cert",
      env: "BIGPEER_REPLICATION_TLS_CERT",
      type: "path",
      argument: "FILE",
      default: "",
      meaning:
        "the certificate (PEM, with its chain) of this Big Peer: links are encrypted; together with --replication-tls-key",
    },
    {
      name: "replication-tls-key",
      flag: "--replication-tls-key",
      env: "BIGPEER_REPLICATION_TLS_KEY",
      type: "path",
      argument: "FILE",
      default: "",
      meaning: "the private key (PEM) of that certificate",
    },
    {
      name: "replication-tls-ca",
      flag: "--replication-tls-ca",
      env: "BIGPEER_REPLICATION_TLS_CA",
      type: "path",
      argument: "FILE",
      default: "",
      meaning:
        "certificates (PEM) that must have signed those of other Big Peers, of who connects as well",
    },
  ],
};

const BOUNDS: SettingGroup = {
  title: "Apps and their bounds",
  settings: [
    {
      name: "app-idle",
      flag: "--app-idle",
      env: "BIGPEER_APP_IDLE_S",
      type: "number",
      argument: "S",
      default: "600",
      meaning: "seconds after which the store of an app that nobody uses is closed",
    },
    {
      name: "app-grace",
      flag: "--app-grace",
      env: "BIGPEER_APP_GRACE_S",
      type: "number",
      argument: "S",
      default: "604800",
      meaning: "seconds that the data of a deleted app is kept",
    },
    {
      name: "statement-timeout",
      flag: "--statement-timeout",
      env: "BIGPEER_STATEMENT_TIMEOUT_MS",
      type: "number",
      argument: "MS",
      default: "30000",
      meaning: "milliseconds that a statement may take before it is stopped with 408; up to 60000",
    },
    {
      name: "transaction-wait",
      flag: "--transaction-wait",
      env: "BIGPEER_TRANSACTION_WAIT_MS",
      type: "number",
      argument: "MS",
      default: "1000",
      meaning:
        "milliseconds that a request waits for the transaction in X-SERVICE-TXN-ID; up to 30000",
    },
    {
      name: "webhook-timeout",
      flag: "--webhook-timeout",
      env: "BIGPEER_WEBHOOK_TIMEOUT_MS",
      type: "number",
      argument: "MS",
      default: "10000",
      meaning: "milliseconds that the webhook of an auth provider may take to answer; up to 60000",
    },
    {
      name: "remote-timeout",
      flag: "--remote-timeout",
      env: "BIGPEER_REMOTE_TIMEOUT_MS",
      type: "number",
      argument: "MS",
      default: "10000",
      meaning: "milliseconds that a statement may take on a connected peer; up to 60000",
    },
    {
      name: "attachment-size-max",
      flag: "--attachment-size-max",
      env: "BIGPEER_ATTACHMENT_SIZE_MAX",
      type: "number",
      argument: "BYTES",
      default: "268435456",
      meaning: "the largest attachment that may be uploaded",
    },
    {
      name: "attachment-grace",
      flag: "--attachment-grace",
      env: "BIGPEER_ATTACHMENT_GRACE_S",
      type: "number",
      argument: "S",
      default: "86400",
      meaning: "seconds that an attachment is kept while no document refers to it",
    },
    {
      name: "sync-connections",
      flag: "--sync-connections",
      env: "BIGPEER_SYNC_CONNECTIONS",
      type: "number",
      argument: "N",
      default: "10000",
      meaning: "peers that may be connected at a time, over all apps; up to 1000000",
    },
  ],
};

const OPERATION: SettingGroup = {
  title: "Logs and the clock",
  settings: [
    {
      name: "log-level",
      flag: "--log-level",
      env: "BIGPEER_LOG_LEVEL",
      type: "text",
      argument: "LEVEL",
      default: "info",
      meaning: "debug (every request), info, warn or error",
    },
    {
      name: "log-format",
      flag: "--log-format",
      env: "BIGPEER_LOG_FORMAT",
      type: "text",
      argument: "FORMAT",
      default: "auto",
      meaning: "json, text, or auto: text on a terminal and json elsewhere",
    },
    {
      name: "accept-clock",
      flag: "--accept-clock",
      env: "BIGPEER_ACCEPT_CLOCK",
      type: "switch",
      default: "0",
      meaning: "confirms a wall clock that is far after the last write; give it once",
    },
  ],
};

export const SETTING_GROUPS: readonly SettingGroup[] = [
  IDENTITY,
  DATA_API,
  MANAGEMENT,
  REPLICATION,
  BOUNDS,
  OPERATION,
];

export const SETTINGS: readonly Setting[] = SETTING_GROUPS.flatMap(({ settings }) => settings);
