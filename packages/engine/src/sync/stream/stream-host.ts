/**
 * Stream host: the groups, limits, permission checkers, counters and clock that all streams share.
 */

import type { LiveRuns } from "../../query/live/live-run.ts";
import type { Authority } from "../../query/permission/authority.ts";
import type { PermissionChecker } from "../../query/permission/permission-checker.ts";
import type { WrittenStamps } from "../log/written-stamps.ts";
import type { FrameCount } from "./frame.ts";
import type { Groups } from "./group.ts";
import type { SentCount } from "./outbox.ts";
import type { StreamLimits } from "./stream-limits.ts";

export interface StreamHost {
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
