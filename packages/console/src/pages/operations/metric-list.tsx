/**
 * The metrics of the server in readable form, with a search.
 */
import { requestRaw } from "../../api/request.ts";
import { managed } from "../../api/session.ts";
import type { VNode } from "../../kit/preact.ts";
import { useLoad } from "../../kit/use-load.ts";
import { route, setQuery } from "../../route/router.ts";
import { Empty } from "../../ui/empty.tsx";
import { ErrorMessage } from "../../ui/error-message.tsx";
import { TextField } from "../../ui/field.tsx";
import { Table } from "../../ui/table.tsx";
import { searchItems } from "../../values/search.ts";
import { plural } from "../../values/show-value.ts";
import { durationText } from "../../values/time-text.ts";
import { type Family, readExposition, type Sample } from "./exposition.ts";

const POLL_MS = 5000;

interface Row extends Sample {
  readonly key: string;
  readonly family: Family;
  readonly isFirst: boolean;
}

export function MetricList(): VNode {
  const { search = "" } = route.value.query;
  const { value, error, reload } = useLoad("metrics", loadMetrics, { pollMs: POLL_MS });
  const found = searchItems(value ?? [], ({ name, help }) => `${name} ${help}`, search);
  const families = search === "" ? found : found.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  return (
    <>
      <div class="toolbar">
        <div class="search">
          <TextField
            label="Search metrics"
            isLabelHidden
            type="search"
            placeholder="Search metrics"
            value={search}
            onInput={(text) => setQuery({ search: text }, { replace: true })}
          />
        </div>
        {value === undefined ? null : (
          <span class="muted" role="status">
            {plural(families.length, "metric")}
          </span>
        )}
      </div>
      <ErrorMessage error={error} onRetry={() => void reload()} />
      {value === undefined ? null : <MetricTable families={families} />}
    </>
  );
}

async function loadMetrics(signal: AbortSignal): Promise<readonly Family[]> {
  const response = await requestRaw(managed("/metrics"), { signal });
  return readExposition(await response.text());
}

function MetricTable({ families }: { readonly families: readonly Family[] }): VNode {
  const rows = families.flatMap((family) =>
    family.samples.map((sample, i): Row => {
      return { ...sample, family, key: `${family.name} ${sample.labels}`, isFirst: i === 0 };
    }),
  );
  return (
    <Table
      label="Metrics"
      rows={rows}
      keyOf={({ key }) => key}
      empty={<Empty title="No metric matches." />}
      columns={[
        { title: "Metric", cell: ({ family, isFirst }) => (isFirst ? <Name of={family} /> : "") },
        { title: "Labels", cell: ({ labels }) => <code>{labels}</code> },
        { title: "Value", isNumber: true, cell: (row) => row.value },
        { title: "Mean and percentiles", cell: (row) => spreadText(row) },
      ]}
    />
  );
}

function Name({ of: { name, help } }: { readonly of: Family }): VNode {
  return (
    <span class="wrap-text metric-name">
      <code>{name}</code>
      <span class="hint">{help}</span>
    </span>
  );
}

/** Of a histogram: its mean, median (p50) and 99th percentile (p99). */
function spreadText({ family, distribution }: Row): string {
  const { mean, median, p99 } = distribution ?? {};
  if (mean === undefined || median === undefined || p99 === undefined) return "";
  const show = (value: number): string =>
    family.name.endsWith("_seconds") ? durationText(value * 1000) : String(Math.round(value));
  return `mean ${show(mean)} · p50 ${show(median)} · p99 ${show(p99)}`;
}
