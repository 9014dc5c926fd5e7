/**
 * The results of a remote statement: the devices, and the rows of each.
 */
import type { Fields } from "../../api/execute.ts";
import type { VNode } from "../../kit/preact.ts";
import { Empty } from "../../ui/empty.tsx";
import { StateBadge } from "../../ui/state-badge.tsx";
import { Table } from "../../ui/table.tsx";
import { Value } from "../../ui/value.tsx";
import { plural } from "../../values/show-value.ts";
import { durationText } from "../../values/time-text.ts";
import { type RemoteResult, remoteAdvice } from "./remote-statement.ts";

/** Rows of a device that are shown. */
const ROWS_MAX = 200;

export function RemoteResults({ results }: { readonly results: readonly RemoteResult[] }): VNode {
  if (results.length === 0) return <Empty title="No connected device matches." />;
  const failed = results.filter(({ error }) => error !== undefined).length;
  return (
    <div class="results" aria-live="polite">
      <p class="muted">
        {plural(results.length, "device")}
        {failed === 0 ? "" : `, ${failed} failed`}
      </p>
      {results.map((result, i) => (
        <Result key={`${i} ${result.peer.peerKeyString}`} result={result} />
      ))}
    </div>
  );
}

function Result({ result }: { readonly result: RemoteResult }): VNode {
  const { peer, items, elapsedMilliseconds, error, warnings = [] } = result;
  const name = peer.deviceName === "" ? undefined : peer.deviceName;
  const advice = error === undefined ? undefined : remoteAdvice(error.description);
  return (
    <details class="card" open>
      <summary>
        <span class="grow">{name ?? peer.peerKeyString.slice(0, 8)}</span>
        <StateBadge kind={error === undefined ? "ok" : "err"}>
          {error === undefined ? plural(items.length, "row") : "failed"}
        </StateBadge>
        {elapsedMilliseconds === undefined ? null : (
          <span class="muted">{durationText(elapsedMilliseconds)}</span>
        )}
      </summary>
      {error === undefined ? <Rows items={items} /> : <p>{error.description}</p>}
      {advice === undefined ? null : <p class="muted">{advice}</p>}
      {warnings.map(({ description }) => (
        <p key={description} class="muted">
          {description}
        </p>
      ))}
    </details>
  );
}

function Rows({ items }: { readonly items: readonly Fields[] }): VNode {
  const rows = items.slice(0, ROWS_MAX).map((item, i) => ({ item, i }));
  const names = [...new Set(rows.flatMap(({ item }) => Object.keys(item)))];
  const columns = names.map((title) => ({
    title,
    cell: ({ item }: (typeof rows)[number]) => <Value value={item[title]} />,
  }));
  return (
    <>
      <Table
        label="Rows"
        columns={columns}
        rows={rows}
        keyOf={({ i }) => String(i)}
        empty={<p class="muted">No rows.</p>}
      />
      {items.length > ROWS_MAX ? <p class="muted">The first {ROWS_MAX} rows.</p> : null}
    </>
  );
}
