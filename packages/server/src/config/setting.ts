/**
 * Setting: what the settings table says of one setting.
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
  | "public"
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
  | "cluster"
  | "cluster-name"
  | "cluster-secret"
  | "cluster-host"
  | "cluster-port"
  | "cluster-advertise"
  | "cluster-creds"
  | "cluster-tls-cert"
  | "cluster-tls-key"
  | "cluster-tls-ca"
  | "cluster-monitor"
  | "cluster-cut-off"
  | "cluster-away"
  | "cluster-development"
  | "app-idle"
  | "app-grace"
  | "statement-timeout"
  | "transaction-wait"
  | "webhook-timeout"
  | "remote-timeout"
  | "delivery-timeout"
  | "delivery-attempts"
  | "attachment-size-max"
  | "attachment-space-max"
  | "attachment-grace"
  | "sync-connections"
  | "backup-every"
  | "backup-keep"
  | "backup-dir"
  | "shutdown-delay"
  | "log-level"
  | "log-format"
  | "accept-clock";

/**
 * Type of a value in the settings file. A `list` may also be one text; a `path` is relative to the
 * folder of the file.
 */
export type SettingType = "text" | "path" | "number" | "number or off" | "switch" | "list";

export interface Setting {
  /** Also its key in the settings file. */
  readonly name: SettingName;
  /** Absent for secrets: every user of the machine can read a command line. */
  readonly flag?: string;
  readonly env: string;
  readonly type: SettingType;
  /** Placeholder for the value in the help; a setting without one is a switch. */
  readonly argument?: string;
  /** The default as a flag would give it; empty for none. */
  readonly default: string;
  /** Shown in the help and in docs/operating.md. */
  readonly meaning: string;
}

export interface SettingGroup {
  readonly title: string;
  readonly settings: readonly Setting[];
}
