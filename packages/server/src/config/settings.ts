/**
 * Settings table: name, flag, environment variable, type, default and description of each setting.
 * config.ts reads and checks the values; the command line's help is generated from this table, and
 * a test compares docs/operating.md with it.
 */

import type { Setting, SettingGroup } from "./setting.ts";

const IDENTITY: SettingGroup = {
  title: "Server",
  settings: [
    {
      name: "config",
      flag: "--config",
      env: "BIGPEER_CONFIG",
      type: "path",
      argument: "FILE",
      default: "",
      meaning: "JSON file with settings; flags and variables take precedence over it",
    },
    {
      name: "data-dir",
      flag: "--data-dir",
      env: "BIGPEER_DATA_DIR",
      type: "path",
      argument: "DIR",
      default: "./data",
      meaning: "folder that holds all data; created if it is absent",
    },
    {
      name: "namespace",
      flag: "--namespace",
      env: "BIGPEER_NAMESPACE",
      type: "text",
      argument: "LABEL",
      default: "default",
      meaning: "first label of this Big Peer in paths of the management API",
    },
    {
      name: "name",
      flag: "--name",
      env: "BIGPEER_NAME",
      type: "text",
      argument: "LABEL",
      default: "big-peer",
      meaning: "second label of this Big Peer in paths of the management API",
    },
  ],
};

const DATA_API: SettingGroup = {
  title: "Data API",
  settings: [
    {
      name: "port",
      flag: "--port",
      env: "BIGPEER_PORT",
      type: "number",
      argument: "N",
      default: "8080",
      meaning: "port of the data API and of sync; 0 picks a free port",
    },
    {
      name: "host",
      flag: "--host",
      env: "BIGPEER_HOST",
      type: "text",
      argument: "ADDRESS",
      default: "127.0.0.1",
      meaning: "address of the data API; 0.0.0.0 for all interfaces",
    },
    {
      name: "tls-cert",
      flag: "--tls-cert",
      env: "BIGPEER_TLS_CERT",
      type: "path",
      argument: "FILE",
      default: "",
      meaning:
        "certificate (PEM, with its chain) for HTTPS on the data and management ports; requires --tls-key",
    },
    {
      name: "tls-key",
      flag: "--tls-key",
      env: "BIGPEER_TLS_KEY",
      type: "path",
      argument: "FILE",
      default: "",
      meaning: "private key (PEM) of --tls-cert",
    },
    {
      name: "public-url",
      flag: "--public-url",
      env: "BIGPEER_PUBLIC_URL",
      type: "text",
      argument: "URL",
      default: "",
      meaning:
        "URL that clients put before /api/v4, used for links in answers; by default derived from each request",
    },
    {
      name: "public",
      flag: "--public",
      env: "BIGPEER_PUBLIC",
      type: "path",
      argument: "DIR",
      default: "",
      meaning: "folder with the static files of an app, served at / without a credential",
    },
    {
      name: "cors-origins",
      flag: "--cors-origins",
      env: "BIGPEER_CORS_ORIGINS",
      type: "list",
      argument: "LIST",
      default: "loopback",
      meaning:
        "origins of web pages that may call the server, separated by commas; or loopback for pages of this machine, none, or * for all",
    },
    {
      name: "trusted-proxies",
      flag: "--trusted-proxies",
      env: "BIGPEER_TRUSTED_PROXIES",
      type: "list",
      argument: "LIST",
      default: "",
      meaning:
        "proxies whose X-Forwarded-For the server trusts: addresses and ranges (10.0.0.0/8), separated by commas",
    },
  ],
};

const MANAGEMENT: SettingGroup = {
  title: "Management API",
  settings: [
    {
      name: "management-port",
      flag: "--management-port",
      env: "BIGPEER_MANAGEMENT_PORT",
      type: "number or off",
      argument: "N",
      default: "8081",
      meaning:
        "port of the management API; if --port is not 8080, the default is the port after it; 0 picks a free port; off disables it",
    },
    {
      name: "management-host",
      flag: "--management-host",
      env: "BIGPEER_MANAGEMENT_HOST",
      type: "text",
      argument: "ADDRESS",
      default: "127.0.0.1",
      meaning:
        "address of the management API; an address other than loopback requires an admin token",
    },
    {
      name: "admin-token",
      env: "BIGPEER_ADMIN_TOKEN",
      type: "text",
      argument: "TEXT",
      default: "",
      meaning: "bearer token that the management API requires; at least 16 characters",
    },
  ],
};

const REPLICATION: SettingGroup = {
  title: "Replication with other Big Peers",
  settings: [
    {
      name: "replication-port",
      flag: "--replication-port",
      env: "BIGPEER_REPLICATION_PORT",
      type: "number or off",
      argument: "N",
      default: "4040",
      meaning:
        "port that accepts links of other Big Peers, open while a replication secret is set; if --port is not 8080, the default is the second port after it; 0 picks a free port; off disables it",
    },
    {
      name: "replication-host",
      flag: "--replication-host",
      env: "BIGPEER_REPLICATION_HOST",
      type: "text",
      argument: "ADDRESS",
      default: "127.0.0.1",
      meaning: "address of the replication port; 0.0.0.0 for all interfaces",
    },
    {
      name: "replication-secret",
      env: "BIGPEER_REPLICATION_SECRET",
      type: "text",
      argument: "TEXT",
      default: "",
      meaning:
        "shared secret for replication, for apps that have none of their own; at least 16 characters",
    },
    {
      name: "replication-tls-cert",
      flag: "--replication-tls-cert",
      env: "BIGPEER_REPLICATION_TLS_CERT",
      type: "path",
      argument: "FILE",
      default: "",
      meaning:
        "certificate (PEM, with its chain) of this Big Peer, for encrypted links; requires --replication-tls-key",
    },
    {
      name: "replication-tls-key",
      flag: "--replication-tls-key",
      env: "BIGPEER_REPLICATION_TLS_KEY",
      type: "path",
      argument: "FILE",
      default: "",
      meaning: "private key (PEM) of --replication-tls-cert",
    },
    {
      name: "replication-tls-ca",
      flag: "--replication-tls-ca",
      env: "BIGPEER_REPLICATION_TLS_CA",
      type: "path",
      argument: "FILE",
      default: "",
      meaning:
        "CA bundle (PEM) that verifies other Big Peers, inbound and outbound; requires --replication-tls-cert",
    },
  ],
};

const CLUSTER: SettingGroup = {
  title: "Cluster (docs/cluster.md)",
  settings: [
    {
      name: "cluster",
      flag: "--cluster",
      env: "BIGPEER_CLUSTER",
      type: "list",
      argument: "LIST",
      default: "",
      meaning:
        "NATS servers (nats://host:4222, separated by commas) whose log this server shares with other nodes; by default it is alone",
    },
    {
      name: "cluster-name",
      flag: "--cluster-name",
      env: "BIGPEER_CLUSTER_NAME",
      type: "text",
      argument: "LABEL",
      default: "bigpeer",
      meaning: "name of the cluster, for several on the same NATS",
    },
    {
      name: "cluster-secret",
      env: "BIGPEER_CLUSTER_SECRET",
      type: "text",
      argument: "TEXT",
      default: "",
      meaning: "shared secret of all nodes of the cluster; at least 16 characters",
    },
    {
      name: "cluster-host",
      flag: "--cluster-host",
      env: "BIGPEER_CLUSTER_HOST",
      type: "text",
      argument: "ADDRESS",
      default: "127.0.0.1",
      meaning: "address where other nodes reach this one",
    },
    {
      name: "cluster-port",
      flag: "--cluster-port",
      env: "BIGPEER_CLUSTER_PORT",
      type: "number",
      argument: "N",
      default: "8083",
      meaning:
        "port for other nodes; if --port is not 8080, the default is the third port after it; 0 picks a free port",
    },
    {
      name: "cluster-advertise",
      flag: "--cluster-advertise",
      env: "BIGPEER_CLUSTER_ADVERTISE",
      type: "text",
      argument: "URL",
      default: "",
      meaning: "URL of this node for other nodes; by default made of the address and the port",
    },
    {
      name: "cluster-creds",
      flag: "--cluster-creds",
      env: "BIGPEER_CLUSTER_CREDS",
      type: "path",
      argument: "FILE",
      default: "",
      meaning: "credentials file for NATS; a user and a password may also be in the addresses",
    },
    {
      name: "cluster-tls-cert",
      flag: "--cluster-tls-cert",
      env: "BIGPEER_CLUSTER_TLS_CERT",
      type: "path",
      argument: "FILE",
      default: "",
      meaning: "certificate (PEM) of this node, for NATS and for other nodes",
    },
    {
      name: "cluster-tls-key",
      flag: "--cluster-tls-key",
      env: "BIGPEER_CLUSTER_TLS_KEY",
      type: "path",
      argument: "FILE",
      default: "",
      meaning: "private key (PEM) of --cluster-tls-cert",
    },
    {
      name: "cluster-tls-ca",
      flag: "--cluster-tls-ca",
      env: "BIGPEER_CLUSTER_TLS_CA",
      type: "path",
      argument: "FILE",
      default: "",
      meaning: "CA (PEM) of the certificates of NATS and of all nodes",
    },
    {
      name: "cluster-monitor",
      flag: "--cluster-monitor",
      env: "BIGPEER_CLUSTER_MONITOR",
      type: "list",
      argument: "LIST",
      default: "",
      meaning:
        "monitoring addresses of the NATS servers (http://host:8222), where their settings are checked at the start",
    },
    {
      name: "cluster-cut-off",
      flag: "--cluster-cut-off",
      env: "BIGPEER_CLUSTER_CUT_OFF_S",
      type: "number",
      argument: "S",
      default: "60",
      meaning: "seconds for which a node that cannot reach the log still serves reads and peers",
    },
    {
      name: "cluster-away",
      flag: "--cluster-away",
      env: "BIGPEER_CLUSTER_AWAY_S",
      type: "number",
      argument: "S",
      default: "86400",
      meaning:
        "seconds for which the log keeps what a node that is away lacks; after that the node begins with a copy of another",
    },
    {
      name: "cluster-development",
      flag: "--cluster-development",
      env: "BIGPEER_CLUSTER_DEVELOPMENT",
      type: "switch",
      default: "0",
      meaning: "start also on NATS servers that could lose what they acknowledged",
    },
  ],
};

const BOUNDS: SettingGroup = {
  title: "Apps and limits",
  settings: [
    {
      name: "app-idle",
      flag: "--app-idle",
      env: "BIGPEER_APP_IDLE_S",
      type: "number",
      argument: "S",
      default: "600",
      meaning: "seconds without use after which the store of an app is closed",
    },
    {
      name: "app-grace",
      flag: "--app-grace",
      env: "BIGPEER_APP_GRACE_S",
      type: "number",
      argument: "S",
      default: "604800",
      meaning: "seconds that the data of a deleted app is kept; until then the app can be restored",
    },
    {
      name: "statement-timeout",
      flag: "--statement-timeout",
      env: "BIGPEER_STATEMENT_TIMEOUT_MS",
      type: "number",
      argument: "MS",
      default: "30000",
      meaning:
        "time limit of a statement in milliseconds, up to 60000; a statement over the limit returns 408",
    },
    {
      name: "transaction-wait",
      flag: "--transaction-wait",
      env: "BIGPEER_TRANSACTION_WAIT_MS",
      type: "number",
      argument: "MS",
      default: "1000",
      meaning:
        "milliseconds that a request waits for the transaction in X-SERVICE-TXN-ID, up to 30000",
    },
    {
      name: "webhook-timeout",
      flag: "--webhook-timeout",
      env: "BIGPEER_WEBHOOK_TIMEOUT_MS",
      type: "number",
      argument: "MS",
      default: "10000",
      meaning:
        "time limit for the answer of an auth provider's webhook in milliseconds, up to 60000",
    },
    {
      name: "remote-timeout",
      flag: "--remote-timeout",
      env: "BIGPEER_REMOTE_TIMEOUT_MS",
      type: "number",
      argument: "MS",
      default: "10000",
      meaning: "time limit of a remote statement on each device in milliseconds, up to 60000",
    },
    {
      name: "delivery-timeout",
      flag: "--delivery-timeout",
      env: "BIGPEER_DELIVERY_TIMEOUT_MS",
      type: "number",
      argument: "MS",
      default: "15000",
      meaning: "time limit of one delivery to a webhook or sink in milliseconds, up to 60000",
    },
    {
      name: "delivery-attempts",
      flag: "--delivery-attempts",
      env: "BIGPEER_DELIVERY_ATTEMPTS",
      type: "number",
      argument: "N",
      default: "100",
      meaning: "attempts at a delivery before it becomes a dead letter, up to 10000",
    },
    {
      name: "attachment-size-max",
      flag: "--attachment-size-max",
      env: "BIGPEER_ATTACHMENT_SIZE_MAX",
      type: "number",
      argument: "BYTES",
      default: "268435456",
      meaning: "size of the largest attachment that clients may upload, in bytes",
    },
    {
      name: "attachment-space-max",
      flag: "--attachment-space-max",
      env: "BIGPEER_ATTACHMENT_SPACE_MAX",
      type: "number",
      argument: "BYTES",
      default: "0",
      meaning: "size of all attachments of one app on disk, in bytes; 0 for no limit but the disk",
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
      meaning:
        "number of small peers that may be connected at the same time, over all apps; up to 1000000",
    },
  ],
};

const BACKUP: SettingGroup = {
  title: "Backups by schedule",
  settings: [
    {
      name: "backup-every",
      flag: "--backup-every",
      env: "BIGPEER_BACKUP_EVERY",
      type: "text",
      argument: "TIME",
      default: "off",
      meaning: "time between two backups, such as 30m, 6h or 1d; from one minute on",
    },
    {
      name: "backup-keep",
      flag: "--backup-keep",
      env: "BIGPEER_BACKUP_KEEP",
      type: "number",
      argument: "N",
      default: "7",
      meaning: "number of backups that stay; older ones are removed after a new one",
    },
    {
      name: "backup-dir",
      flag: "--backup-dir",
      env: "BIGPEER_BACKUP_DIR",
      type: "path",
      argument: "DIR",
      default: "./backups",
      meaning: "folder for the backups, outside of the data folder; each node has its own",
    },
  ],
};

const OPERATION: SettingGroup = {
  title: "Shutdown, logs and clock",
  settings: [
    {
      name: "shutdown-delay",
      flag: "--shutdown-delay",
      env: "BIGPEER_SHUTDOWN_DELAY_S",
      type: "number",
      argument: "S",
      default: "0",
      meaning: "seconds for which a server that is stopped still serves, while /readyz fails",
    },
    {
      name: "log-level",
      flag: "--log-level",
      env: "BIGPEER_LOG_LEVEL",
      type: "text",
      argument: "LEVEL",
      default: "info",
      meaning: "lowest level that is logged: debug (every request), info, warn or error",
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
      meaning: "confirms a wall clock that is far ahead of the last write; use it for one start",
    },
  ],
};

export const SETTING_GROUPS: readonly SettingGroup[] = [
  IDENTITY,
  DATA_API,
  MANAGEMENT,
  REPLICATION,
  CLUSTER,
  BOUNDS,
  BACKUP,
  OPERATION,
];

export const SETTINGS: readonly Setting[] = SETTING_GROUPS.flatMap(({ settings }) => settings);
