/**
 * A plan as a tree: its operators in the order in which rows pass them. Of a PROFILE, each has its
 * rows and time, and the one that took the most is marked.
 */
import type { VNode } from "../../kit/preact.ts";
import { Button } from "../../ui/button.tsx";
import { Icon } from "../../ui/icon.tsx";
import { type PlanLine, planWarnings } from "../../values/plan-tree.ts";
import { countText } from "../../values/show-value.ts";
import type { StatementPrefix } from "../../values/statement-text.ts";
import { elapsedText } from "../../values/time-text.ts";
import type { Run } from "./statement-session.ts";

export interface PlanViewProps {
  readonly run: Extract<Run, { kind: "done" }>;
  readonly lines: readonly PlanLine[];
  readonly onStart: (prefix?: StatementPrefix) => void;
}

export function PlanView({ run, lines, onStart }: PlanViewProps): VNode {
  const { profile } = run.shown;
  const warnings = planWarnings(lines);
  return (
    <div class="plan">
      {profile === undefined ? null : <ProfileTimes run={run} />}
      {warnings.length === 0 ? null : (
        <div class="note warning">
          <Icon name="warning" />
          <span class="grow">
            {warnings.join("; ")}. An index can let the statement skip most of them.
          </span>
          <Button onClick={() => onStart("ADVISE")}>Advise</Button>
        </div>
      )}
      <PlanLines lines={lines} isProfile={profile !== undefined} />
    </div>
  );
}

function ProfileTimes({ run }: { readonly run: PlanViewProps["run"] }): VNode | null {
  const { profile } = run.shown;
  if (profile === undefined) return null;
  const { elapsedMs, parseMs, planMs } = profile;
  return (
    <p class="plan-times">
      <strong>{elapsedText(elapsedMs)}</strong> at the server
      <span class="muted">
        {" "}
        · parsing {elapsedText(parseMs)} · planning {elapsedText(planMs)}
      </span>
      <Comparison nowMs={elapsedMs} earlierMs={run.earlierMs} />
    </p>
  );
}

interface ComparisonProps {
  readonly nowMs: number;
  readonly earlierMs: number | undefined;
}

/** Only a difference that is no accident. */
const CLEAR_FACTOR = 1.5;

function Comparison({ nowMs, earlierMs }: ComparisonProps): VNode | null {
  if (earlierMs === undefined || nowMs === 0 || earlierMs === 0) return null;
  const factor = earlierMs / nowMs;
  if (factor < CLEAR_FACTOR && factor > 1 / CLEAR_FACTOR) return null;
  const times = (factor > 1 ? factor : 1 / factor).toFixed(factor > 10 || factor < 0.1 ? 0 : 1);
  const isFaster = factor > 1;
  return (
    <span class={isFaster ? "faster" : "slower"}>
      {" "}
      · {times} times {isFaster ? "faster" : "slower"} than before ({elapsedText(earlierMs)})
    </span>
  );
}

interface PlanLinesProps {
  readonly lines: readonly PlanLine[];
  readonly isProfile: boolean;
}

function PlanLines({ lines, isProfile }: PlanLinesProps): VNode {
  return (
    <ol class="plan-lines">
      {lines.map((line, index) => (
        <li key={index}>
          <PlanRow line={line} isProfile={isProfile} />
          {line.children.length === 0 ? null : (
            <PlanLines lines={line.children} isProfile={isProfile} />
          )}
        </li>
      ))}
    </ol>
  );
}

function PlanRow({
  line,
  isProfile,
}: {
  readonly line: PlanLine;
  readonly isProfile: boolean;
}): VNode {
  const { title, detail, warning, isHot } = line;
  return (
    <div class={isHot ? "plan-row is-hot" : "plan-row"}>
      <span class="plan-title">
        {warning === undefined ? null : <Icon name="warning" />}
        {title}
        {isHot ? <span class="badge hot">slowest</span> : null}
      </span>
      <span class="plan-detail code muted">{detail}</span>
      {isProfile ? <PlanStats line={line} /> : null}
    </div>
  );
}

function PlanStats({ line }: { readonly line: PlanLine }): VNode {
  const { rows, ms, share } = line;
  return (
    <>
      <span class="plan-number">{rows === undefined ? "" : `${countText(rows)} rows`}</span>
      <span class="plan-number">{ms === undefined ? "" : elapsedText(ms)}</span>
      <span class="plan-bar" aria-hidden="true">
        <span class="plan-share" style={{ width: `${Math.round(share * 100)}%` }} />
      </span>
    </>
  );
}
