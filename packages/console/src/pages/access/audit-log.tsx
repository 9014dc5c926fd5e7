/**
 * The audit log: changes of the server, remote statements, and the use of data by the console.
 */
import type { List } from "../../api/list.ts";
import { request } from "../../api/request.ts";
import { managed } from "../../api/session.ts";
import type { VNode } from "../../kit/preact.ts";
import { useLoad } from "../../kit/use-load.ts";
import { route, setQuery } from "../../route/router.ts";
import { ChoiceField } from "../../ui/choice.tsx";
import { Empty } from "../../ui/empty.tsx";
import { ErrorMessage } from "../../ui/error-message.tsx";
import { Pager } from "../../ui/pager.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { Time } from "../../ui/time.tsx";
import { shortText } from "../../values/show-value.ts";

interface AuditEntry {
  readonly at: string;
  readonly actor: string;
  readonly action: string;
  readonly target: string;
  readonly detail: unknown;
  readonly requestId: string | null;
  readonly address: string | null;
}

const LOGS = [
  { value: "changes", title: "Changes", path: "/audit" },
  { value: "statements", title: "Data used by the console", path: "/audit/statement" },
  { value: "remote", title: "Remote statements", path: "/audit/remote" },
];

const PAGE_SIZE = 50;

export function AuditLog(): VNode {
  const { log = "changes", page = "1" } = route.value.query;
  const chosen = LOGS.find(({ value }) => value === log) ?? LOGS[0];
  const path = `${chosen?.path}?page=${encodeURIComponent(page)}&size=${PAGE_SIZE}`;
  const { value, error, reload } = useLoad(path, (signal) =>
    request<List<AuditEntry>>(managed(path), { signal }),
  );
  return (
    <>
      <div class="toolbar">
        <ChoiceField
          label="Log"
          value={chosen?.value ?? ""}
          choices={LOGS}
          onChange={(to) => setQuery({ log: to === "changes" ? undefined : to, page: undefined })}
        />
      </div>
      <ErrorMessage error={error} onRetry={() => void reload()} />
      {value === undefined ? null : (
        <>
          <Table
            label="Audit log"
            columns={COLUMNS}
            rows={value.data.map((entry, i) => ({ ...entry, key: String(i) }))}
            keyOf={({ key }) => key}
            empty={<Empty title="Nothing is in this log." />}
          />
          <Pager meta={value.meta} />
        </>
      )}
    </>
  );
}

const COLUMNS: readonly Column<AuditEntry & { readonly key: string }>[] = [
  { title: "Time", cell: ({ at }) => <Time at={at} /> },
  { title: "Actor", cell: ({ actor }) => actor },
  {
    title: "Action",
    cell: ({ action, requestId }) => (
      <span title={requestId === null ? undefined : `Request ${requestId}`}>{action}</span>
    ),
  },
  { title: "Target", cell: ({ target }) => target },
  {
    title: "Detail",
    cell: ({ detail }) =>
      detail === null ? "" : <code class="wrap-text">{shortText(detail)}</code>,
  },
  { title: "Address", cell: ({ address }) => address ?? "" },
];
