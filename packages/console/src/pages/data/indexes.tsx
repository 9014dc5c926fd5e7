/**
 * The indexes of a collection: how far their build is, how often they are used, and which ones recent
 * statements would need.
 */

import { type Advice, loadAdvice } from "../../api/advice.ts";
import type { Collection, CollectionIndex, IndexUse } from "../../api/collections.ts";
import { execute } from "../../api/execute.ts";
import { ApiError } from "../../api/request.ts";
import { parseSorts } from "../../data/document-page.ts";
import { useState, type VNode } from "../../kit/preact.ts";
import { type Loaded, useLoad } from "../../kit/use-load.ts";
import { Button, IconButton } from "../../ui/button.tsx";
import { confirmed, Dialog } from "../../ui/dialog.tsx";
import { Empty } from "../../ui/empty.tsx";
import { ErrorMessage } from "../../ui/error-message.tsx";
import { TextField } from "../../ui/field.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { Time } from "../../ui/time.tsx";
import { showToast } from "../../ui/toast.tsx";
import { pathText, quoteName } from "../../values/names.ts";
import { countText, plural } from "../../values/show-value.ts";

export interface IndexesProps {
  readonly app: string;
  readonly collection: string;
  readonly found: Collection | undefined;
  readonly onChange: () => Promise<void>;
}

export function Indexes({ app, collection, found, onChange }: IndexesProps): VNode {
  const [isCreating, setCreating] = useState(false);
  const version = `${collection} ${found?.indexes.length ?? 0}`;
  const advice = useLoad(version, (signal) => loadAdvice({ app, collection, signal }), {
    isKept: true,
  });
  const run = async (text: string, title: string): Promise<void> => {
    await execute(app, text);
    showToast({ text: title });
    await onChange();
  };
  const drop = async ({ name }: CollectionIndex): Promise<void> => {
    const isConfirmed = await confirmed({
      title: `Drop the index ${name}?`,
      text: <p>Statements on {collection} then work without it. You can create it again.</p>,
      action: "Drop",
      isDestructive: true,
    });
    if (!isConfirmed) return;
    const text = `DROP INDEX ${quoteName(name)} ON ${quoteName(collection)}`;
    await run(text, `Dropped ${name}`).catch(showFailure);
  };
  return (
    <>
      <div class="toolbar">
        <Button kind="primary" icon="plus" onClick={() => setCreating(true)}>
          Create index
        </Button>
      </div>
      <Table
        label="Indexes"
        columns={[...COLUMNS, dropColumn((index) => void drop(index))]}
        rows={found?.indexes ?? []}
        keyOf={({ name }) => name}
        empty={<Empty title="This collection has no index" />}
      />
      <IndexAdvice
        loaded={advice}
        onCreate={({ statement }) => void run(statement, "Created the index").catch(showFailure)}
      />
      {isCreating ? (
        <CreateIndex collection={collection} onCreate={run} onClose={() => setCreating(false)} />
      ) : null}
    </>
  );
}

const COLUMNS: readonly Column<CollectionIndex>[] = [
  { title: "Index", cell: ({ name }) => <span class="code">{name}</span> },
  {
    title: "Fields",
    cell: ({ fields }) => (
      <span class="code">
        {fields
          .map(({ path, isDescending }) => pathText(path) + (isDescending ? " DESC" : ""))
          .join(", ")}
      </span>
    ),
  },
  { title: "State", cell: (index) => <IndexState index={index} /> },
  { title: "Use", cell: ({ use }) => <IndexUses use={use} /> },
];

function dropColumn(onDrop: (index: CollectionIndex) => void): Column<CollectionIndex> {
  return {
    title: "Drop",
    isTitleHidden: true,
    cell: (index) => (
      <span class="row-actions">
        <IconButton label={`Drop ${index.name}`} icon="trash" onClick={() => onDrop(index)} />
      </span>
    ),
  };
}

function IndexState({ index }: { readonly index: CollectionIndex }): VNode {
  const { progress } = index;
  if (index.state === "complete" || progress === null) return <span>ready</span>;
  const { done, total } = progress;
  return (
    <span class="index-progress">
      <progress value={done} max={Math.max(total, 1)} aria-label={`Build of ${index.name}`} />
      <span class="muted">
        {countText(done)} of {countText(total)}
      </span>
    </span>
  );
}

function IndexUses({ use }: { readonly use: IndexUse | null }): VNode {
  if (use === null) return <span class="muted">not known</span>;
  const { count, lastAt, since } = use;
  if (lastAt === null) {
    return (
      <span class="muted">
        never used since the start, <Time at={since} />
      </span>
    );
  }
  return (
    <span>
      used {plural(count, "time")}, last <Time at={lastAt} />
    </span>
  );
}

interface IndexAdviceProps {
  readonly loaded: Loaded<readonly Advice[]>;
  readonly onCreate: (advice: Advice) => void;
}

function IndexAdvice({ loaded, onCreate }: IndexAdviceProps): VNode {
  return (
    <section class="advice" aria-label="Advice">
      <h3>Advice</h3>
      <p class="muted">Indexes that recent statements on this collection would use.</p>
      <ErrorMessage error={loaded.error} onRetry={() => void loaded.reload()} />
      {loaded.value?.length === 0 ? <p>No index is missing.</p> : null}
      <ul class="advice-list">
        {loaded.value?.map((each) => (
          <li key={each.statement} class="suggestion">
            <p class="code suggestion-text">{each.statement}</p>
            <p class="hint">
              Because of <code class="suggestion-text">{each.because}</code>
            </p>
            <div class="toolbar">
              <Button icon="plus" onClick={() => onCreate(each)}>
                Create this index
              </Button>
            </div>
          </li>
        ))}
      </ul>
    </section>
  );
}

interface CreateIndexProps {
  readonly collection: string;
  readonly onCreate: (text: string, title: string) => Promise<void>;
  readonly onClose: () => void;
}

function CreateIndex({ collection, onCreate, onClose }: CreateIndexProps): VNode {
  const [fields, setFields] = useState("");
  const [name, setName] = useState("");
  const [error, setError] = useState<ApiError>();
  const parsed = parseSorts(fields);
  const keys = parsed ?? [];
  const suggested = `by_${keys.map(({ path }) => path.join("_")).join("_")}`.replaceAll(
    /\W+/g,
    "_",
  );
  const create = async (): Promise<void> => {
    if (keys.length === 0) return;
    const index = name === "" ? suggested : name;
    const list = keys.map(
      ({ path, isDescending }) => pathText(path) + (isDescending ? " DESC" : ""),
    );
    const text = `CREATE INDEX ${quoteName(index)} ON ${quoteName(collection)} (${list.join(", ")})`;
    try {
      await onCreate(text, `Created ${index}`);
      onClose();
    } catch (fault) {
      setError(ApiError.from(fault));
    }
  };
  return (
    <Dialog
      title="Create an index"
      size="small"
      onClose={onClose}
      onSubmit={() => void create()}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button isSubmit kind="primary" isDisabled={keys.length === 0}>
            Create
          </Button>
        </>
      }
    >
      <TextField
        label="Fields"
        value={fields}
        onInput={setFields}
        isCode
        autofocus
        isRequired
        placeholder="state, placedAt desc"
        fault={
          // A comma at the end is one that is being typed.
          parsed === undefined && !/(?:^|,)\s*$/.test(fields)
            ? "expected paths of fields"
            : undefined
        }
        hint="Field paths, separated by commas. Add desc to a path for descending order."
      />
      <TextField
        label="Name"
        value={name}
        onInput={setName}
        isCode
        placeholder={keys.length === 0 ? "by_state" : suggested}
      />
      <ErrorMessage error={error} />
    </Dialog>
  );
}

function showFailure(error: unknown): void {
  showToast({ text: ApiError.from(error).message, kind: "error" });
}
