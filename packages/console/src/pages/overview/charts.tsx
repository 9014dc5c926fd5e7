/**
 * The charts of the overview. Each can be shown as a table, too.
 */
import type { Chart, ChartData } from "../../charts/uplot.ts";
import { greatest, sampled, type TimeSeries } from "../../data/time-series.ts";
import { useEffect, useRef, type VNode } from "../../kit/preact.ts";
import { route, setQuery } from "../../route/router.ts";
import { theme } from "../../shell/theme.ts";
import { Button } from "../../ui/button.tsx";
import { sizeText } from "../../values/show-value.ts";

interface Line {
  readonly title: string;
  readonly name: string;
}

interface ChartDefinition {
  readonly title: string;
  readonly lines: readonly Line[];
  readonly format: (value: number) => string;
}

const HEIGHT = 132;
/** A row of the table is five minutes. */
const TABLE_STEP = 60;

function plain(value: number): string {
  return value >= 10 || Number.isInteger(value) ? String(Math.round(value)) : value.toFixed(1);
}

function milliseconds(value: number): string {
  return `${value >= 10 || value === 0 ? Math.round(value) : Number(value.toFixed(2))} ms`;
}

const CHARTS: readonly ChartDefinition[] = [
  {
    title: "Requests and commits a second",
    lines: [
      { title: "requests", name: "requestsPerSecond" },
      { title: "commits", name: "commitsPerSecond" },
    ],
    format: plain,
  },
  {
    title: "Commit latency",
    lines: [
      { title: "mean", name: "commitMs" },
      { title: "longest", name: "commitMaxMs" },
    ],
    format: milliseconds,
  },
  {
    title: "Event-loop delay",
    lines: [
      { title: "mean", name: "loopDelayMs" },
      { title: "longest", name: "loopDelayMaxMs" },
    ],
    format: milliseconds,
  },
  { title: "Peers", lines: [{ title: "connected", name: "peers" }], format: plain },
  {
    title: "Sync lag",
    lines: [
      { title: "peers", name: "syncLagMs" },
      { title: "links", name: "linkLagMs" },
    ],
    format: milliseconds,
  },
  { title: "Memory", lines: [{ title: "resident", name: "memoryBytes" }], format: sizeText },
];

export function Charts({ series }: { readonly series: TimeSeries }): VNode {
  const isTable = route.value.query["view"] === "tables";
  return (
    <section class="overview-part" aria-labelledby="overview-hour">
      <div class="toolbar">
        <h2 id="overview-hour" class="grow">
          Last hour
        </h2>
        <Button
          isPressed={isTable}
          onClick={() => setQuery({ view: isTable ? undefined : "tables" })}
        >
          Show as tables
        </Button>
      </div>
      <div class="charts">
        {CHARTS.map((definition) => (
          <ChartCard
            key={definition.title}
            definition={definition}
            series={series}
            isTable={isTable}
          />
        ))}
      </div>
    </section>
  );
}

interface ChartCardProps {
  readonly definition: ChartDefinition;
  readonly series: TimeSeries;
  readonly isTable: boolean;
}

function ChartCard({ definition, series, isTable }: ChartCardProps): VNode {
  const { title, lines, format } = definition;
  return (
    <figure class="chart">
      <figcaption>
        <span class="grow">{title}</span>
        {lines.map((line, i) => (
          <span key={line.name} class={`chart-key series-${i + 1}`}>
            {lines.length > 1 ? `${line.title} ` : ""}
            <strong>{formatLast(series.values[line.name], format)}</strong>
          </span>
        ))}
      </figcaption>
      {isTable ? (
        <ChartTable definition={definition} series={series} />
      ) : (
        <Plot definition={definition} series={series} />
      )}
    </figure>
  );
}

function formatLast(
  values: readonly (number | null)[] | undefined,
  format: (value: number) => string,
): string {
  const last = values?.at(-1);
  return last === null || last === undefined ? "—" : format(last);
}

type PlotProps = Pick<ChartCardProps, "definition" | "series">;

function Plot({ definition, series }: PlotProps): VNode {
  const place = useRef<HTMLDivElement>(null);
  const chart = useRef<Chart | undefined>(undefined);
  const data = dataOf(definition, series);
  const latest = useRef(data);
  latest.current = data;
  // The colours are those of the theme when it is drawn.
  const shownTheme = theme.value;
  useEffect(() => {
    let isGone = false;
    void import("../../charts/uplot.ts").then((module) => {
      if (isGone || place.current === null) return;
      const options = { height: HEIGHT, format: definition.format };
      chart.current = new module.Chart(place.current, latest.current, options);
    });
    return () => {
      isGone = true;
      chart.current?.remove();
      chart.current = undefined;
    };
  }, [definition, shownTheme]);
  useEffect(() => chart.current?.update(data), [series]);
  const most = Math.max(...data.lines.map(({ values }) => greatest(values)));
  const label = `${definition.title} of the last hour, at most ${definition.format(most)}`;
  return <div ref={place} class="plot" role="img" aria-label={label} />;
}

function dataOf({ lines }: ChartDefinition, series: TimeSeries): ChartData {
  return {
    at: series.at.map((at) => at / 1000),
    lines: lines.map(({ title, name }, i) => {
      return { title, number: i + 1, values: series.values[name] ?? series.at.map(() => null) };
    }),
  };
}

function ChartTable({ definition, series }: PlotProps): VNode {
  const { title, lines, format } = definition;
  return (
    <table class="table" aria-label={title}>
      <thead>
        <tr>
          <th scope="col">Time</th>
          {lines.map((line) => (
            <th key={line.name} scope="col" class="number">
              {line.title}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {sampled(series.at.length, TABLE_STEP).map((i) => (
          <tr key={i}>
            <td>{new Date(series.at[i] ?? 0).toTimeString().slice(0, "hh:mm:ss".length)}</td>
            {lines.map(({ name }) => (
              <td key={name} class="number">
                {formatLast([series.values[name]?.[i] ?? null], format)}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}
