/**
 * The documents of a collection: filter, order and columns, one page at a time, and the document that
 * is open beside the list.
 */

import { stringifyExact } from "@bigpeer/client/exact-json";
import { type DocumentPage, loadPage } from "../../api/documents.ts";
import type { Cursor } from "../../data/document-page.ts";
import type { TypedField } from "../../data/typed-fields.ts";
import { useEffect, useState, type VNode } from "../../kit/preact.ts";
import { useShortcuts } from "../../kit/shortcuts.ts";
import { useLoad } from "../../kit/use-load.ts";
import { setQuery } from "../../route/router.ts";
import { Button } from "../../ui/button.tsx";
import { Empty } from "../../ui/empty.tsx";
import { ErrorMessage } from "../../ui/error-message.tsx";
import { CollectionToolbar } from "./collection-toolbar.tsx";
import {
  closeDocument,
  type DataState,
  dataState,
  openDocument,
  showFirstPage,
} from "./data-state.ts";
import { DocumentPanel } from "./document-panel.tsx";
import { DocumentJson, DocumentTable } from "./document-table.tsx";
import { dataVersion } from "./edits.ts";
import { FilterBar } from "./filter-bar.tsx";
import { InsertDialog } from "./insert-dialog.tsx";
import { Pager } from "./pager.tsx";

const PAGE_SIZE = 50;

export interface DocumentsProps {
  readonly app: string;
  readonly collection: string;
  /** Documents of the collection; undefined before it is known. */
  readonly total: number | undefined;
}

export function Documents({ app, collection, total }: DocumentsProps): VNode {
  const state = dataState();
  const [draft, setDraft] = useState<readonly TypedField[]>();
  const page = usePage(app, collection, state);
  useShortcuts("Documents", [
    { keys: "n", title: "Insert a document", run: () => setDraft([]) },
    { keys: "j", title: "Table or JSON", run: () => toggleView(state) },
    { keys: "Escape", title: "Close the document", run: closeDocument },
  ]);
  const rows = page.value?.rows ?? [];
  const isFiltered = state.condition.text !== "";
  return (
    <>
      <CollectionToolbar
        app={app}
        collection={collection}
        rows={rows}
        onInsert={() => setDraft([])}
        onReload={page.reload}
      />
      <FilterBar collection={collection} rows={rows} />
      <div class={state.id === undefined ? "documents" : "documents has-panel"}>
        <div class="documents-list">
          <ErrorMessage error={page.error} onRetry={() => void page.reload()} />
          {page.value === undefined ? null : (
            <>
              <DocumentList state={state} page={page.value} isLoading={page.isLoading} />
              {rows.length === 0 ? (
                <NoDocuments isFiltered={isFiltered} cursor={state.cursor} />
              ) : null}
              <Pager
                app={app}
                collection={collection}
                state={state}
                page={page.value}
                total={total}
              />
            </>
          )}
        </div>
        {state.id === undefined ? null : (
          <DocumentPanel
            key={stringifyExact(state.id)}
            app={app}
            collection={collection}
            id={state.id}
            onClone={setDraft}
          />
        )}
      </div>
      {draft === undefined ? null : (
        <InsertDialog
          app={app}
          collection={collection}
          original={draft}
          example={rows[0]}
          onClose={() => setDraft(undefined)}
          onInserted={(_, id) => openDocument(id)}
        />
      )}
    </>
  );
}

/** The page of the address, read again after each edit. The last one stays until it is there. */
function usePage(
  app: string,
  collection: string,
  state: DataState,
): ReturnType<typeof useLoad<DocumentPage>> {
  const { condition, sort, cursor } = state;
  const request = { collection, condition, sort, cursor, size: PAGE_SIZE };
  const page = useLoad(stringifyExact(request), (signal) => loadPage(app, request, signal), {
    isKept: true,
  });
  const version = dataVersion.value;
  useEffect(() => {
    if (version > 0) void page.reload();
  }, [version]);
  return page;
}

interface DocumentListProps {
  readonly state: DataState;
  readonly page: DocumentPage;
  readonly isLoading: boolean;
}

function DocumentList({ state, page, isLoading }: DocumentListProps): VNode | null {
  if (page.rows.length === 0) return null;
  return (
    <div class={isLoading ? "documents-rows is-loading" : "documents-rows"} aria-busy={isLoading}>
      {state.view === "json" ? (
        <DocumentJson rows={page.rows} />
      ) : (
        <DocumentTable rows={page.rows} sort={state.sort} openId={state.id} />
      )}
    </div>
  );
}

interface NoDocumentsProps {
  readonly isFiltered: boolean;
  readonly cursor: Cursor | undefined;
}

function NoDocuments({ isFiltered, cursor }: NoDocumentsProps): VNode {
  // Those of a later page may have been deleted since.
  if (cursor !== undefined) {
    return (
      <Empty title="No documents on this page">
        <Button onClick={() => showFirstPage({})}>First page</Button>
      </Empty>
    );
  }
  return isFiltered ? (
    <Empty title="No document matches the filter" />
  ) : (
    <Empty title="This collection has no documents">
      <p>Press n to insert one.</p>
    </Empty>
  );
}

function toggleView({ view }: DataState): void {
  setQuery({ view: view === "json" ? undefined : "json" });
}
