/**
 * What the last statement answered: its state in one line, then rows as table or JSON, the plan, or
 * advice.
 */

import { stringifyExact } from "@bigpeer/client/exact-json";
import { copyText } from "../../kit/copy.ts";
import { useEffect, useState, type VNode } from "../../kit/preact.ts";
import { hrefOf, route } from "../../route/router.ts";
import { Button, IconButton } from "../../ui/button.tsx";
import { Empty } from "../../ui/empty.tsx";
import { ErrorMessage } from "../../ui/error-message.tsx";
import { Icon } from "../../ui/icon.tsx";
import { JsonView } from "../../ui/json-view.tsx";
import { Tabs } from "../../ui/tabs.tsx";
import { showToast } from "../../ui/toast.tsx";
import { readAsName } from "../../values/read-as.ts";
import { plural } from "../../values/show-value.ts";
import type { StatementPrefix } from "../../values/statement-text.ts";
import { elapsedText } from "../../values/time-text.ts";
import { AdviceView } from "./advice-view.tsx";
import { PlanView } from "./plan-view.tsx";
import { RowsTable } from "./rows-table.tsx";
import { seeAsOfRoute } from "./see-as.tsx";
import { ROWS_MAX, type Run, type StatementSession } from "./statement-session.ts";

export interface ResultViewProps {
  readonly session: StatementSession;
  readonly onStart: (prefix?: StatementPrefix) => void;
}

type Done = Extract<Run, { kind: "done" }>;

export function ResultView({ session, onStart }: ResultViewProps): VNode {
  const run = session.run.value;
  return (
    <section class="statement-result" aria-label="Result">
      <div class={run === undefined ? "" : "result-state"}>
        <div class="grow" role="status">
          <RunState run={run} />
        </div>
        {run?.kind === "done" ? (
          <IconButton
            label="Copy the rows as JSON"
            icon="copy"
            onClick={() => void copyRows(run.result.items)}
          />
        ) : null}
      </div>
      {run === undefined ? <FirstSteps /> : null}
      {run?.kind === "failed" ? <ErrorMessage error={run.error} /> : null}
      {run?.kind === "done" ? (
        <DoneRun key={run.statement} run={run} session={session} onStart={onStart} />
      ) : null}
    </section>
  );
}

async function copyRows(items: readonly unknown[]): Promise<void> {
  try {
    await copyText(stringifyExact(items, 2));
    showToast({ text: `Copied ${plural(items.length, "row")}` });
  } catch {
    showToast({ text: "failed to copy: the browser does not allow it here", kind: "error" });
  }
}

function RunState({ run }: { readonly run: Run | undefined }): VNode | null {
  if (run === undefined) return null;
  if (run.kind === "running") return <Running startMs={run.startMs} />;
  const who = run.as === undefined ? "" : `, as ${readAsName(run.as)}`;
  const time = elapsedText(run.ms);
  if (run.kind === "cancelled") return <span>Cancelled after {time}</span>;
  if (run.kind === "failed") {
    return (
      <span>
        Failed after {time}
        {who}
      </span>
    );
  }
  return (
    <span>
      <strong>{outcomeOf(run)}</strong> in {time}
      {who}
    </span>
  );
}

/** Seconds are shown only where there are some. */
function Running({ startMs }: { readonly startMs: number }): VNode {
  const [seconds, setSeconds] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => {
      setSeconds(Math.floor((performance.now() - startMs) / 1000));
    }, 1000);
    return () => clearInterval(timer);
  }, [startMs]);
  return (
    <span>
      Running
      <span aria-hidden="true">{seconds === 0 ? "…" : `, ${seconds} s`}</span>
    </span>
  );
}

function outcomeOf({ result, shown, isCut }: Done): string {
  if (shown.profile !== undefined) return plural(shown.profile.rows, "row");
  if (shown.plan !== undefined) return "Plan";
  if (shown.advice !== undefined) return "Advice";
  const changed = result.mutatedDocumentIds.length;
  const isWrite = !["select", "unknown"].includes(result.queryType) || changed > 0;
  if (isWrite && shown.rows.length === 0) return `${plural(changed, "document")} changed`;
  return isCut ? `The first ${plural(ROWS_MAX, "row")}` : plural(shown.rows.length, "row");
}

type View = "plan" | "advice" | "table" | "json";

const TITLES: Readonly<Record<View, string>> = {
  plan: "Plan",
  advice: "Advice",
  table: "Table",
  json: "JSON",
};

function viewsOf({ shown }: Done): readonly View[] {
  if (shown.profile !== undefined) return ["plan", "table", "json"];
  if (shown.plan !== undefined) return ["plan", "json"];
  return shown.advice === undefined ? ["table", "json"] : ["advice", "json"];
}

interface DoneRunProps {
  readonly run: Done;
  readonly session: StatementSession;
  readonly onStart: (prefix?: StatementPrefix) => void;
}

function DoneRun({ run, session, onStart }: DoneRunProps): VNode {
  const { result, shown, isCut } = run;
  const views = viewsOf(run);
  const wanted = route.value.query["view"];
  const view = views.find((each) => each === wanted) ?? views[0] ?? "table";
  const tabs = views.map((id) => {
    const href = hrefOf("statements", { ...route.value.query, view: id });
    return { id, title: TITLES[id], href };
  });
  const { warnings } = result;
  return (
    <>
      <Tabs label="Views of the result" tabs={tabs} current={view} />
      <Warnings
        texts={warnings.map(({ description }) => description)}
        total={result.totalWarningsCount}
      />
      {isCut ? <CutNote session={session} /> : null}
      {view === "table" ? <RowsTable rows={shown.rows} result={result} run={run} /> : null}
      {view === "json" ? <JsonRows run={run} /> : null}
      {view === "plan" && shown.plan !== undefined ? (
        <PlanView run={run} lines={shown.plan} onStart={onStart} />
      ) : null}
      {view === "advice" && shown.advice !== undefined ? (
        <AdviceView app={session.app} advice={shown.advice} onStart={onStart} />
      ) : null}
    </>
  );
}

/** A thousand rows as a tree of JSON are slow, and no one reads them. */
const JSON_ROWS_MAX = 200;

function JsonRows({ run }: { readonly run: Done }): VNode {
  const { items } = run.result;
  const isCut = items.length > JSON_ROWS_MAX;
  return (
    <>
      {isCut ? <p class="hint">The first {plural(JSON_ROWS_MAX, "row")}.</p> : null}
      <JsonView value={items.slice(0, JSON_ROWS_MAX)} label="Result as JSON" />
    </>
  );
}

function CutNote({ session }: { readonly session: StatementSession }): VNode {
  return (
    <div class="note">
      <span class="grow">
        There are more rows. A statement without LIMIT shows {plural(ROWS_MAX, "row")}.
      </span>
      <Button onClick={() => void session.start({ isWhole: true, as: seeAsOfRoute() })}>
        Read all rows
      </Button>
    </div>
  );
}

interface WarningsProps {
  readonly texts: readonly string[];
  readonly total: number;
}

function Warnings({ texts, total }: WarningsProps): VNode | null {
  if (texts.length === 0) return null;
  return (
    <ul class="warnings" aria-label="Warnings">
      {[...new Set(texts)].map((text) => (
        <li key={text} class="warning">
          <Icon name="warning" />
          <span>{text}</span>
        </li>
      ))}
      {total > texts.length ? <li class="hint">{plural(total, "warning")} in all</li> : null}
    </ul>
  );
}

function FirstSteps(): VNode {
  return (
    <Empty title="Nothing has run yet">
      <p>
        Type a statement such as <code>SELECT * FROM orders WHERE total &gt; 10</code> and press{" "}
        <kbd>Ctrl</kbd> <kbd>Enter</kbd>.
      </p>
    </Empty>
  );
}
