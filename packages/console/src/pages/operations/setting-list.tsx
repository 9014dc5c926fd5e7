/**
 * The settings as the server has read them, without secrets.
 */
import { listOf } from "../../api/list.ts";
import { managed } from "../../api/session.ts";
import type { VNode } from "../../kit/preact.ts";
import { useLoad } from "../../kit/use-load.ts";
import { route, setQuery } from "../../route/router.ts";
import { Empty } from "../../ui/empty.tsx";
import { ErrorMessage } from "../../ui/error-message.tsx";
import { TextField } from "../../ui/field.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { searchItems } from "../../values/search.ts";

interface Setting {
  readonly name: string;
  readonly value: string | null;
  readonly source: string;
  readonly description: string;
  readonly isSecret: boolean;
  readonly isSet: boolean;
}

export function SettingList(): VNode {
  const { search = "" } = route.value.query;
  const { value, error, reload } = useLoad("settings", (signal) =>
    listOf<Setting>(managed("/setting"), signal),
  );
  const found = searchItems(
    value ?? [],
    ({ name, description }) => `${name} ${description}`,
    search,
  );
  return (
    <>
      <div class="toolbar">
        <div class="search">
          <TextField
            label="Search settings"
            isLabelHidden
            type="search"
            placeholder="Search settings"
            value={search}
            onInput={(text) => setQuery({ search: text }, { replace: true })}
          />
        </div>
        <span class="muted">A change takes effect when the server starts again.</span>
      </div>
      <ErrorMessage error={error} onRetry={() => void reload()} />
      {value === undefined ? null : (
        <Table
          label="Settings"
          columns={COLUMNS}
          rows={found}
          keyOf={({ name }) => name}
          empty={<Empty title="No setting matches." />}
        />
      )}
    </>
  );
}

const COLUMNS: readonly Column<Setting>[] = [
  { title: "Setting", cell: ({ name }) => <code>{name}</code> },
  { title: "Value", cell: (setting) => <SettingValue setting={setting} /> },
  {
    title: "From",
    cell: ({ source }) =>
      source === "default" ? <span class="muted">default</span> : <strong>{source}</strong>,
  },
  {
    title: "Description",
    cell: ({ description }) => <span class="wrap-text">{description}</span>,
  },
];

function SettingValue({ setting }: { readonly setting: Setting }): VNode {
  const { value, isSecret, isSet } = setting;
  if (isSecret) return <span class="muted">{isSet ? "set, not shown" : "not set"}</span>;
  if (value === null) return <span class="muted">not set</span>;
  return <code class="wrap-text">{value}</code>;
}
