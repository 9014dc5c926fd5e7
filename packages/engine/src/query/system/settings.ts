/**
 * Settings: the current system parameters of one store, which SHOW reads and ALTER SYSTEM changes.
 *
 * stored-settings.ts makes changes durable. Names are in lower case and found in any case. The
 * table below is the only definition of the parameters.
 */

import {
  isObject,
  PeerError,
  stringifyJson,
  type Value,
  type ValueObject,
} from "@bigpeer/protocol";
import { DOCUMENT_SIZE_MAX, DOCUMENT_SIZE_SOFT_MAX, HORIZON_MS } from "../../limits.ts";
import { nameHint, quoteName, unknownName } from "../unknown-name.ts";
import { type Datum, type DatumType, toValue, typeOf } from "../value/datum.ts";
import { describeType } from "../value/mismatch.ts";

export type ParameterType = "boolean" | "integer" | "number" | "object";

const DESCRIPTIONS: Readonly<Record<ParameterType, string>> = {
  boolean: "a boolean",
  integer: "an integer",
  number: "a number",
  object: "an object",
};

export interface Parameter {
  /** Name in lower case. */
  readonly name: string;
  readonly type: ParameterType;
  readonly initial: Value;
  /** Inclusive bounds of a number. */
  readonly min?: number;
  readonly max?: number;
  /** Further check of an object; returns the problem, or undefined if valid. */
  readonly faultOf?: (value: ValueObject) => string | undefined;
}

const HOURS_MAX = 100 * 366 * 24;
const BYTES_MAX: number = 64 * 1024 * 1024;
/** Maximum size of an object: objects are shown, compared and kept in memory. */
const OBJECT_LENGTH_MAX: number = 64 * 1024;

const SYNC_SCOPES: readonly string[] = [
  "AllPeers",
  "BigPeerOnly",
  "SmallPeersOnly",
  "LocalPeerOnly",
];

/** Conditions under which the history keeps a finished request; see `Requests`. */
export interface HistoryQualifiers {
  /** Minimum duration. */
  readonly elapsed_ms?: number;
  /** Minimum number of rows returned or documents changed. */
  readonly result_count?: number;
  /** Keeps requests that did not complete. */
  readonly failed?: boolean;
}

/**
 * All parameters. One that is without effect yet is accepted and shown, so that statements written
 * for other peers run.
 */
export const PARAMETERS: readonly Parameter[] = [
  /** Days between two runs that collect tombstones. Without effect yet. */
  {
    name: "days_between_reaping",
    type: "integer",
    initial: 1,
    min: 1,
    max: 366,
  },
  /** Whether EVICT leaves what is kept about peers as it is. Without effect yet. */
  {
    name: "disable_replication_gc_on_evict",
    type: "boolean",
    initial: false,
  },
  /** A statement that makes a document larger than this fails. */
  {
    name: "document_size_hard_limit_bytes",
    type: "integer",
    initial: DOCUMENT_SIZE_MAX,
    min: 1024,
    max: BYTES_MAX,
  },
  /** A statement that makes a document larger than this gives a warning. */
  {
    name: "document_size_soft_limit_bytes",
    type: "integer",
    initial: DOCUMENT_SIZE_SOFT_MAX,
    min: 1024,
    max: BYTES_MAX,
  },
  /** Directives of a statement that gives none, for instance #max_scans. Without effect yet. */
  {
    name: "dql_default_directives",
    type: "object",
    initial: {},
  },
  /**
   * Which finished requests are kept: those with elapsed_ms or result_count of at least the
   * number given, and with failed: true those that failed. All of them when it is empty.
   */
  {
    name: "dql_request_history_qualifiers",
    type: "object",
    initial: {},
    faultOf: faultOfQualifiers,
  },
  /** Finished requests that system:request_history keeps at most. */
  {
    name: "dql_request_history_size",
    type: "integer",
    initial: 4096,
    min: 0,
    max: 100_000,
  },
  /** A statement that runs longer is stopped. 0: only the limit of the server counts. */
  {
    name: "dql_request_timeout_seconds",
    type: "number",
    initial: 0,
    min: 0,
    max: 86_400,
  },
  /** Whether subscriptions are only simple queries over one collection. Without effect yet. */
  {
    name: "dql_restrict_subscriptions",
    type: "boolean",
    initial: true,
  },
  /**
   * A statement that took longer is reported in the log. 0: only one that its time limit
   * stopped.
   */
  {
    name: "dql_slow_request_warn_seconds",
    type: "number",
    initial: 1,
    min: 0,
    max: 86_400,
  },
  /** Whether a field that is not declared is a register, and nothing else is seen of it. */
  {
    name: "dql_strict_mode",
    type: "boolean",
    initial: false,
  },
  /** Tombstones that are collected in one transaction at most. Without effect yet. */
  {
    name: "tombstone_reap_batch_size",
    type: "integer",
    initial: 10_000,
    min: 1,
    max: 1_000_000,
  },
  /** Whether tombstones are collected at all. Without effect yet. */
  {
    name: "tombstone_ttl_enabled",
    type: "boolean",
    initial: true,
  },
  /** Age in hours at which tombstones are collected. Without effect yet. */
  {
    name: "tombstone_ttl_hours",
    type: "integer",
    initial: HORIZON_MS / 3_600_000,
    min: 1,
    max: HOURS_MAX,
  },
  /** With whom a collection is synced: its name and one of SYNC_SCOPES. Without effect yet. */
  {
    name: "user_collection_sync_scopes",
    type: "object",
    initial: {},
    faultOf: faultOfScopes,
  },
];

const BY_NAME: ReadonlyMap<string, Parameter> = new Map(
  PARAMETERS.map((parameter) => [parameter.name, parameter]),
);

/** Finds a parameter by name in any case; throws `query.parameter` if unknown. */
export function parameterOf(name: string): Parameter {
  const parameter = BY_NAME.get(name.toLowerCase());
  if (parameter !== undefined) return parameter;
  const hint = nameHint(name, BY_NAME.keys());
  throw new PeerError("query.parameter", `unknown parameter ${quoteName(name)}`, { hint });
}

/** Parameters that every statement reads, computed once per change instead of per statement. */
type Current = Pick<
  Settings,
  "historyQualifiers" | "historySize" | "isStrict" | "requestTimeoutMs" | "slowRequestMs"
>;

export class Settings {
  /** Default of every parameter. */
  #defaults: ReadonlyMap<string, Value>;
  /** Only values that were set. */
  readonly #values = new Map<string, Value>();
  #current: Current;

  /** `defaults`: values by name that replace the defaults of the table. */
  constructor(defaults: ValueObject = {}) {
    const initial = new Map(PARAMETERS.map((parameter) => [parameter.name, parameter.initial]));
    for (const [name, value] of Object.entries(defaults)) {
      const parameter = parameterOf(name);
      initial.set(parameter.name, checked(parameter, value));
    }
    this.#defaults = initial;
    this.#current = this.#readCurrent();
  }

  /** Strict mode: a field that the statement does not declare is a register. */
  get isStrict(): boolean {
    return this.#current.isStrict;
  }

  /** Time limit of a statement; undefined if only the limit of the server applies. */
  get requestTimeoutMs(): number | undefined {
    return this.#current.requestTimeoutMs;
  }

  /** Duration from which a statement is reported as slow; undefined if none is. */
  get slowRequestMs(): number | undefined {
    return this.#current.slowRequestMs;
  }

  get historySize(): number {
    return this.#current.historySize;
  }

  get historyQualifiers(): HistoryQualifiers {
    return this.#current.historyQualifiers;
  }

  /** Size beyond which writing a document gives a warning. */
  get documentSizeSoftLimit(): number {
    return Number(this.#read("document_size_soft_limit_bytes"));
  }

  /** Size beyond which a statement fails to write a document. */
  get documentSizeHardLimit(): number {
    return Number(this.#read("document_size_hard_limit_bytes"));
  }

  get(name: string): Value {
    return this.#read(parameterOf(name).name);
  }

  /** Sets a parameter. Throws `query.parameter` for an invalid value and changes nothing then. */
  set(name: string, datum: Datum): void {
    const parameter = parameterOf(name);
    this.#values.set(parameter.name, checked(parameter, datum));
    this.#current = this.#readCurrent();
  }

  /** Resets one parameter or all to the default. */
  reset(name?: string): void {
    if (name === undefined) this.#values.clear();
    else this.#values.delete(parameterOf(name).name);
    this.#current = this.#readCurrent();
  }

  /** Returns a copy for changes that are not committed yet. */
  draft(): Settings {
    const draft = new Settings();
    draft.#defaults = this.#defaults;
    for (const [name, value] of this.#values) draft.#values.set(name, value);
    draft.#current = draft.#readCurrent();
    return draft;
  }

  /** Replaces all values by these and the defaults; skips values that are no longer valid. */
  load(values: Iterable<readonly [name: string, value: Value]>): void {
    this.#values.clear();
    for (const [name, value] of values) {
      const parameter = BY_NAME.get(name);
      if (parameter !== undefined && isFitting(parameter, value)) this.#values.set(name, value);
    }
    this.#current = this.#readCurrent();
  }

  /** Returns one parameter as a row. */
  show(name: string): ValueObject {
    const parameter = parameterOf(name);
    return { [parameter.name]: this.#read(parameter.name) };
  }

  /** Returns all parameters, or those that `isWanted` accepts, as one row. */
  all(isWanted: (name: string) => boolean = () => true): ValueObject {
    const names = [...BY_NAME.keys()].filter(isWanted);
    return Object.fromEntries(names.map((name) => [name, this.#read(name)]));
  }

  /** The values that were set and not reset, by name. */
  changed(): ReadonlyMap<string, Value> {
    return this.#values;
  }

  #readCurrent(): Current {
    return {
      isStrict: this.#read("dql_strict_mode") === true,
      requestTimeoutMs: millisecondsOf(this.#read("dql_request_timeout_seconds")),
      slowRequestMs: millisecondsOf(this.#read("dql_slow_request_warn_seconds")),
      historySize: Number(this.#read("dql_request_history_size")),
      historyQualifiers: this.#read("dql_request_history_qualifiers") as HistoryQualifiers,
    };
  }

  #read(name: string): Value {
    return this.#values.get(name) ?? this.#defaults.get(name) ?? null;
  }
}

/** Checks a value and returns the form to store; throws if it is invalid. */
function checked(parameter: Parameter, datum: Datum): Value {
  if (datum === undefined || !isOfType(parameter.type, typeOf(datum))) {
    const expected = DESCRIPTIONS[parameter.type];
    const found = describeType(datum);
    throw refusal(`parameter '${parameter.name}' is ${expected}, found ${found}`);
  }
  const value = toValue(datum);
  const fault = isObject(value) ? faultOfObject(parameter, value) : faultOfNumber(parameter, value);
  if (fault !== undefined) throw refusal(`parameter '${parameter.name}' ${fault}`);
  return value;
}

/** Whether a stored value is valid: another version may have stored one that this one rejects. */
function isFitting(parameter: Parameter, value: Value): boolean {
  try {
    checked(parameter, value);
    return true;
  } catch (error) {
    if (error instanceof PeerError) return false;
    throw error;
  }
}

function isOfType(wanted: ParameterType, found: DatumType): boolean {
  return wanted === "number" ? found === "integer" || found === "float" : wanted === found;
}

function faultOfNumber({ min, max }: Parameter, value: Value): string | undefined {
  if (min === undefined || max === undefined) return undefined;
  const isNumber = typeof value === "number" || typeof value === "bigint";
  if (!isNumber || (value >= min && value <= max)) return undefined;
  return `must be from ${min} to ${max}, found ${value}`;
}

function faultOfObject({ faultOf }: Parameter, value: ValueObject): string | undefined {
  const length = stringifyJson(value).length;
  if (length <= OBJECT_LENGTH_MAX) return faultOf?.(value);
  return `must be at most ${OBJECT_LENGTH_MAX} characters of JSON, found ${length}`;
}

const QUALIFIERS = new Set(["elapsed_ms", "result_count", "failed"]);

function faultOfQualifiers(value: ValueObject): string | undefined {
  for (const [name, wanted] of Object.entries(value)) {
    if (!QUALIFIERS.has(name)) {
      return `has no qualifier ${unknownName(name, QUALIFIERS)}`;
    }
    if (name === "failed" ? typeof wanted === "boolean" : typeof wanted === "number") continue;
    return `needs ${name === "failed" ? "a boolean" : "a number"} for ${name}`;
  }
  return undefined;
}

function faultOfScopes(value: ValueObject): string | undefined {
  for (const [collection, scope] of Object.entries(value)) {
    if (collection.startsWith("__")) return `cannot hold ${quoteName(collection)}: it is internal`;
    if (typeof scope === "string" && SYNC_SCOPES.includes(scope)) continue;
    return `needs one of ${SYNC_SCOPES.join(", ")} for ${quoteName(collection)}`;
  }
  return undefined;
}

function millisecondsOf(seconds: Value): number | undefined {
  return seconds === 0 ? undefined : Number(seconds) * 1000;
}

function refusal(message: string): PeerError {
  return new PeerError("query.parameter", message);
}
