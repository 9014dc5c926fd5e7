/**
 * RunnerContext: everything that the requests of one runner share: the store, its settings and
 * requests, prepared texts, time slices and limits.
 */

import { PeerError, type ValueObject } from "@bigpeer/protocol";
import { RESULT_BYTES_MAX, STATEMENT_MS_MAX } from "../../limits.ts";
import type { Platform } from "../../platform.ts";
import type { Store } from "../../store/store.ts";
import type { StoredDocument } from "../../store/view.ts";
import { Budget } from "../frame/budget.ts";
import type { IndexUses } from "../frame/index-uses.ts";
import type { MemoryPool } from "../frame/memory-pool.ts";
import { type SliceTaking, TimeSlicer } from "../run/time-slicer.ts";
import { Requests } from "../system/requests.ts";
import { Settings } from "../system/settings.ts";
import { loadSettings } from "../system/stored-settings.ts";
import type { SystemData } from "../system/system-collections.ts";
import { PreparedTexts } from "./prepared-texts.ts";

export interface StatementLimits {
  readonly timeMs: number;
  /** Memory for rows, groups and sorting of one statement. */
  readonly bytes: number;
}

export interface StatementRunnerOptions {
  readonly store: Store;
  readonly platform: Platform;
  readonly appId: string;
  readonly limits?: Partial<StatementLimits>;
  /** Memory shared by all statements of the process; undefined if it is not limited. */
  readonly memory?: MemoryPool;
  /** The time slicer of all statements of the process; default is one of its own. */
  readonly slicer?: TimeSlicer;
  readonly systemData?: SystemData;
  /** Counts the indexes that requests read. */
  readonly indexUses?: IndexUses;
  /** Default settings by name, unless a statement changes them. */
  readonly settings?: ValueObject;
  /** Called for each request that took longer than DQL_SLOW_REQUEST_WARN_SECONDS. */
  readonly onSlow?: (request: StoredDocument) => void;
}

export class RunnerContext {
  readonly store: Store;
  readonly platform: Platform;
  readonly appId: string;
  readonly limits: StatementLimits;
  /** Monotonic clock, in milliseconds. */
  readonly elapsed: () => number;
  readonly slicer: SliceTaking;
  readonly texts: PreparedTexts;
  readonly settings: Settings;
  readonly requests: Requests;
  readonly systemData: SystemData;
  readonly #memory: MemoryPool | undefined;

  constructor(options: StatementRunnerOptions) {
    const { store, platform, appId, limits, memory, systemData, onSlow, indexUses } = options;
    this.store = store;
    this.platform = platform;
    this.appId = appId;
    this.limits = { timeMs: STATEMENT_MS_MAX, bytes: RESULT_BYTES_MAX, ...limits };
    this.#memory = memory;
    this.elapsed = () => platform.elapsed();
    const slicer = options.slicer ?? new TimeSlicer(() => platform.pause(), this.elapsed);
    this.slicer = slicer.of(appId);
    this.texts = new PreparedTexts(this.slicer, this.elapsed);
    this.settings = new Settings(options.settings);
    this.reloadSettings();
    const { settings } = this;
    this.requests = new Requests({ platform, settings, indexUses, ...(onSlow && { onSlow }) });
    this.systemData = this.#withTexts(systemData);
  }

  /** Reads the stored settings, which a statement may have changed. */
  reloadSettings(): void {
    loadSettings(this.settings, this.store);
  }

  /** Budget of a request: the shortest of the deadlines that apply. */
  newBudget(timeoutMs: number | undefined): Budget {
    const { timeMs, bytes } = this.limits;
    const set = this.settings.requestTimeoutMs;
    const timeMsMax = Math.min(timeMs, timeoutMs ?? Infinity, set ?? Infinity);
    if (!(timeMsMax > 0)) throw new PeerError("query.timeout", "the statement has no time to run");
    return new Budget({ elapsed: this.elapsed, timeMsMax, bytesMax: bytes, pool: this.#memory });
  }

  /** The data of the host, and the collection that only the runner knows. */
  #withTexts(host: SystemData | undefined): SystemData {
    return {
      info: () => host?.info?.() ?? [],
      rows: (name) =>
        name === "shared_statements" ? this.texts.rows() : (host?.rows?.(name) ?? []),
      ...(host?.explainSync && { explainSync: host.explainSync.bind(host) }),
    };
  }
}
