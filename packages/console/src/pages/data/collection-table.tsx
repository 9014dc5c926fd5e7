/**
 * All collections of an app with their sizes, and how to begin when there is none.
 */
import type { Collection } from "../../api/collections.ts";
import { execute } from "../../api/execute.ts";
import { ApiError } from "../../api/request.ts";
import { sampleData } from "../../data/sample-data.ts";
import { useState, type VNode } from "../../kit/preact.ts";
import type { Loaded } from "../../kit/use-load.ts";
import { goTo } from "../../route/router.ts";
import { Button } from "../../ui/button.tsx";
import { Empty } from "../../ui/empty.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { showToast } from "../../ui/toast.tsx";
import { countText, plural, sizeText } from "../../values/show-value.ts";
import { collectionHref } from "./data-state.ts";
import { dataChanged } from "./edits.ts";
import { ImportDialog } from "./import-dialog.tsx";
import { InsertDialog } from "./insert-dialog.tsx";

export interface CollectionTableProps {
  readonly app: string;
  readonly loaded: Loaded<readonly Collection[]>;
}

const COLUMNS: readonly Column<Collection>[] = [
  { title: "Collection", cell: ({ name }) => <a href={collectionHref(name)}>{name}</a> },
  { title: "Documents", isNumber: true, cell: ({ documents }) => countText(documents) },
  {
    title: "Size",
    isNumber: true,
    cell: ({ bytes, isEstimated }) => `${isEstimated ? "about " : ""}${sizeText(bytes)}`,
  },
  { title: "Indexes", isNumber: true, cell: ({ indexes }) => indexes.length },
];

export function CollectionTable({ app, loaded }: CollectionTableProps): VNode {
  const [shown, setShown] = useState<"insert" | "import">();
  const [isBusy, setBusy] = useState(false);
  const close = (): void => setShown(undefined);
  const addSamples = async (): Promise<void> => {
    setBusy(true);
    await addSampleData(app);
    setBusy(false);
  };
  const samples = (
    <Button onClick={() => void addSamples()} isDisabled={isBusy}>
      Add sample data
    </Button>
  );
  return (
    <>
      <div class="toolbar">
        <Button kind="primary" icon="plus" onClick={() => setShown("insert")}>
          Insert document
        </Button>
        <Button icon="upload" onClick={() => setShown("import")}>
          Import
        </Button>
        {loaded.value?.length === 0 ? null : samples}
      </div>
      {loaded.value === undefined ? null : (
        <Table
          label="Collections"
          columns={COLUMNS}
          rows={loaded.value}
          keyOf={({ name }) => name}
          empty={
            <Empty title="This app has no documents yet">
              <p>The first document creates its collection. Insert one, import a file, or</p>
              {samples}
            </Empty>
          }
        />
      )}
      {shown === "insert" ? (
        <InsertDialog app={app} onClose={close} onInserted={openCollection} />
      ) : null}
      {shown === "import" ? <ImportDialog app={app} onClose={close} /> : null}
    </>
  );
}

function openCollection(name: string): void {
  goTo("data", { collection: name });
}

async function addSampleData(app: string): Promise<void> {
  let count = 0;
  try {
    for (const { target, documents } of sampleData()) {
      const text = `INSERT INTO ${target} DOCUMENTS (:documents) ON ID CONFLICT DO NOTHING`;
      const { mutatedDocumentIds } = await execute(app, text, { args: { documents } });
      count += mutatedDocumentIds.length;
    }
    showToast({ text: `Added ${plural(count, "document")}` });
  } catch (error) {
    showToast({ text: ApiError.from(error).message, kind: "error" });
  }
  dataChanged();
}
