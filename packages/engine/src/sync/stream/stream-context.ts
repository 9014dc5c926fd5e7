/**
 * Stream context: the groups, limits, permission checkers, counters and clock that all streams of
 * an app share.
 */

import type { Platform } from "../../platform.ts";
import { Budget } from "../../query/frame/budget.ts";
import type { IndexUses } from "../../query/frame/index-uses.ts";
import { LiveRuns } from "../../query/live/live-run.ts";
import { MatchIndex } from "../../query/live/match-index.ts";
import type { Authority } from "../../query/permission/authority.ts";
import type { PermissionChecker } from "../../query/permission/permission-checker.ts";
import type { Store } from "../../store/store.ts";
import { WrittenStamps } from "../log/written-stamps.ts";
import type { FrameCount } from "../outbox/frame.ts";
import type { SentCount } from "../outbox/outbox.ts";
import { STREAM_LIMITS, type StreamLimits } from "../outbox/stream-limits.ts";
import { Groups } from "./groups.ts";
import type { StreamGroup } from "./stream.ts";

export interface StreamContext {
  readonly groups: Groups;
  readonly limits: StreamLimits;
  readonly runs: LiveRuns;
  readonly stamps: WrittenStamps;
  readonly made: FrameCount;
  readonly sent: SentCount;
  /** Monotonic clock, in milliseconds. */
  readonly elapsed: () => number;
  /** Permission checker of an authority; undefined if it may read everything. */
  readonly checkerOf: (authority: Authority | undefined) => PermissionChecker | undefined;
}

export interface StreamsOptions {
  readonly store: Store;
  readonly platform: Platform;
  readonly appId: string;
  readonly limits?: Partial<StreamLimits>;
  /** Counts the indexes that find the documents of a subscription. */
  readonly indexUses?: IndexUses | undefined;
}

/** Time and memory for the lookup of the ids that a condition selects. */
const SEARCH = { timeMs: 2000, bytes: 64 * 1024 * 1024, memory: undefined };

/** Memory that permission checks of a session's documents may use. */
const CHECK_BYTES_MAX = 16 * 1024 * 1024;

export function streamContext(options: StreamsOptions): StreamContext {
  const { store, platform, appId, limits, indexUses } = options;
  return {
    groups: new Groups(new MatchIndex<StreamGroup>(platform, appId)),
    limits: { ...STREAM_LIMITS, ...limits },
    runs: new LiveRuns({ platform, appId, ...SEARCH, indexUses }),
    stamps: new WrittenStamps(store.identity.site),
    made: { encoded: 0 },
    sent: { frames: 0, bytes: 0 },
    elapsed: () => platform.elapsed(),
    checkerOf: checkers(platform, appId),
  };
}

/** One permission checker for each authority, as long as the authority is in use. */
function checkers(platform: Platform, appId: string): StreamContext["checkerOf"] {
  const known = new WeakMap<Authority, PermissionChecker>();
  const elapsed = (): number => platform.elapsed();
  const budget = new Budget({ elapsed, timeMsMax: Infinity, bytesMax: CHECK_BYTES_MAX });
  const run = { args: {}, platform, budget, request: { id: "", appId, startMs: 0 } };
  return (authority) => {
    if (authority === undefined || authority.isReadingAll) return undefined;
    const checker = known.get(authority) ?? authority.checker(run);
    known.set(authority, checker);
    return checker;
  };
}
