/**
 * Overview: what the server has and does now, the last hour as charts, and its last errors.
 */
import {
  type AppSummary,
  type LoggedError,
  loadOverview,
  type Overview,
} from "../../api/overview.ts";
import { appended, NO_POINTS, type TimeSeries } from "../../data/time-series.ts";
import { type ComponentChildren, useRef, type VNode } from "../../kit/preact.ts";
import { useLoad } from "../../kit/use-load.ts";
import { formatRoute } from "../../route/route-state.ts";
import { ErrorMessage } from "../../ui/error-message.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { Time } from "../../ui/time.tsx";
import { countText, sizeText } from "../../values/show-value.ts";
import { durationText } from "../../values/time-text.ts";
import { Charts } from "./charts.tsx";

const POLL_MS = 5000;
/** An hour of points, one each 5 seconds. */
const POINTS_MAX = 720;

export function Page(): VNode {
  const series = useRef<TimeSeries>(NO_POINTS);
  const loaded = useLoad(
    "overview",
    async (signal) => {
      const { overview, points } = await loadOverview(series.current.at.at(-1), signal);
      series.current = appended(series.current, points, POINTS_MAX);
      return { overview, series: series.current };
    },
    { pollMs: POLL_MS },
  );
  const { value } = loaded;
  return (
    <>
      <ErrorMessage error={loaded.error} onRetry={() => void loaded.reload()} />
      {value === undefined ? null : (
        <>
          <Tiles overview={value.overview} />
          <Charts series={value.series} />
          <Apps overview={value.overview} />
          <Errors errors={value.overview.lastErrors} />
        </>
      )}
    </>
  );
}

function Tiles({ overview }: { readonly overview: Overview }): VNode {
  const { now, disk } = overview;
  const ms = (name: string): string => {
    const value = now?.[name];
    return value === null || value === undefined ? "—" : durationText(value);
  };
  const rate = now?.["requestsPerSecond"];
  return (
    <dl class="tiles">
      <Tile title="Apps">{countText(overview.apps.count)}</Tile>
      <Tile title="Documents" note={isCounted(overview) ? "" : "not all apps are counted"}>
        {overview.documents === null
          ? "—"
          : atLeast(countText(overview.documents), isCounted(overview))}
      </Tile>
      <Tile
        title="Data on disk"
        note={disk.freeBytes === null ? "" : `${sizeText(disk.freeBytes)} free`}
      >
        {disk.dataBytes === null ? "—" : atLeast(sizeText(disk.dataBytes), isAllShown(overview))}
      </Tile>
      <Tile title="Peers">{countText(overview.peers)}</Tile>
      <Tile title="Requests a second">
        {rate === null || rate === undefined ? "—" : rateText(rate)}
      </Tile>
      <Tile title="Commit latency">{ms("commitMs")}</Tile>
      <Tile title="Event-loop delay">{ms("loopDelayMs")}</Tile>
      <Tile title="Sync lag">{ms("syncLagMs")}</Tile>
      <Tile title="Link lag">{linkLag(now?.["linkLagSeconds"])}</Tile>
      <Tile title="Last backup">
        <Time at={overview.lastBackupAt} />
      </Tile>
      <Tile title="Started" note={`version ${overview.version}`}>
        <Time at={overview.startedAt} />
      </Tile>
    </dl>
  );
}

/** The sums are of the apps that the server shows one by one. */
function isAllShown({ apps }: Overview): boolean {
  return apps.count <= apps.shown.length;
}

function isCounted(overview: Overview): boolean {
  return isAllShown(overview) && overview.apps.shown.every(({ documents }) => documents !== null);
}

function atLeast(text: string, isExact: boolean): string {
  return isExact ? text : `at least ${text}`;
}

function linkLag(seconds: number | null | undefined): string {
  return seconds === null || seconds === undefined ? "—" : durationText(seconds * 1000);
}

interface TileProps {
  readonly title: string;
  readonly note?: string;
  readonly children: ComponentChildren;
}

function Tile({ title, note = "", children }: TileProps): VNode {
  return (
    <div class="tile">
      <dt>{title}</dt>
      <dd class="tile-value">{children}</dd>
      {note === "" ? null : <dd class="tile-note">{note}</dd>}
    </div>
  );
}

function rateText(rate: number): string {
  return rate === 0 || rate >= 10 ? countText(Math.round(rate)) : rate.toFixed(1);
}

const APP_COLUMNS: readonly Column<AppSummary>[] = [
  {
    title: "App",
    cell: ({ name }) => <a href={formatRoute({ page: "data", query: { app: name } })}>{name}</a>,
  },
  {
    title: "Documents",
    isNumber: true,
    cell: ({ documents }) => (documents === null ? "—" : countText(documents)),
  },
  {
    title: "Size",
    isNumber: true,
    cell: ({ bytes }) => (bytes === null ? "—" : sizeText(bytes)),
  },
  { title: "Peers", isNumber: true, cell: ({ peers }) => countText(peers) },
  { title: "App ID", cell: ({ appId }) => <span class="code muted">{appId}</span> },
];

function Apps({ overview }: { readonly overview: Overview }): VNode {
  const { count, shown } = overview.apps;
  return (
    <section class="overview-part" aria-labelledby="overview-apps">
      <h2 id="overview-apps">Apps</h2>
      <Table label="Apps" columns={APP_COLUMNS} rows={shown} keyOf={({ appId }) => appId} />
      {count > shown.length ? <p class="muted">{countText(count - shown.length)} more</p> : null}
    </section>
  );
}

const ERROR_COLUMNS: readonly Column<LoggedError>[] = [
  { title: "When", cell: ({ at }) => <Time at={at} /> },
  { title: "Level", cell: ({ level }) => <span class={`level ${level}`}>{level}</span> },
  { title: "Message", cell: ({ message }) => message },
];

function Errors({ errors }: { readonly errors: readonly LoggedError[] }): VNode {
  return (
    <section class="overview-part" aria-labelledby="overview-errors">
      <h2 id="overview-errors">Last errors</h2>
      <Table
        label="Last errors"
        columns={ERROR_COLUMNS}
        rows={errors}
        keyOf={({ at, message }) => `${at} ${message}`}
        empty={<p class="muted">No errors since the server started.</p>}
      />
    </section>
  );
}
