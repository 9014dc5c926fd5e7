/**
 * Data: the collections of an app, their documents and their indexes.
 */
import { type Collection, loadCollections } from "../../api/collections.ts";
import { useCommands } from "../../kit/command-list.ts";
import { useEffect, type VNode } from "../../kit/preact.ts";
import { useShortcuts } from "../../kit/shortcuts.ts";
import { type Loaded, useLoad } from "../../kit/use-load.ts";
import { goTo, hrefOf } from "../../route/router.ts";
import { ErrorMessage } from "../../ui/error-message.tsx";
import { Tabs } from "../../ui/tabs.tsx";
import { countText } from "../../values/show-value.ts";
import type { PageProps } from "../page.ts";
import { CollectionTable } from "./collection-table.tsx";
import { collectionHref, dataState } from "./data-state.ts";
import { Documents } from "./documents.tsx";
import { dataVersion, undoLast } from "./edits.ts";
import { Indexes } from "./indexes.tsx";

const POLL_MS = 10_000;

export function Page({ app }: PageProps): VNode {
  const { collection } = dataState();
  const loaded = useLoad(app, (signal) => loadCollections(app, signal), { pollMs: POLL_MS });
  const version = dataVersion.value;
  useEffect(() => {
    if (version > 0) void loaded.reload();
  }, [version]);
  const all = loaded.value ?? [];
  useCommands(
    all.map(({ name }) => {
      return { kind: "Collection", title: name, run: () => goTo("data", { collection: name }) };
    }),
  );
  useShortcuts("Data", [{ keys: "z", title: "Undo the last edit", run: () => void undoLast() }]);
  return (
    <div class="data">
      <CollectionList collections={all} current={collection} />
      <div class="data-main">
        <ErrorMessage error={loaded.error} onRetry={() => void loaded.reload()} />
        {collection === undefined ? (
          <CollectionTable app={app} loaded={loaded} />
        ) : (
          <CollectionView key={collection} app={app} collection={collection} loaded={loaded} />
        )}
      </div>
    </div>
  );
}

interface CollectionListProps {
  readonly collections: readonly Collection[];
  readonly current: string | undefined;
}

function CollectionList({ collections, current }: CollectionListProps): VNode | null {
  if (current === undefined) return null;
  return (
    <section class="collection-list" aria-label="Collections">
      <h2>
        <a href={hrefOf("data")}>Collections</a>
      </h2>
      <ul>
        {collections.map(({ name, documents }) => (
          <li key={name}>
            <a href={collectionHref(name)} aria-current={name === current ? "true" : undefined}>
              <span class="grow cut">{name}</span>
              <span class="muted">{countText(documents)}</span>
            </a>
          </li>
        ))}
      </ul>
    </section>
  );
}

interface CollectionViewProps {
  readonly app: string;
  readonly collection: string;
  readonly loaded: Loaded<readonly Collection[]>;
}

function CollectionView({ app, collection, loaded }: CollectionViewProps): VNode {
  const { tab } = dataState();
  const found = loaded.value?.find(({ name }) => name === collection);
  const tabs = [
    { id: "documents", title: "Documents", href: collectionHref(collection) },
    { id: "indexes", title: "Indexes", href: hrefOf("data", { collection, tab: "indexes" }) },
  ];
  const counts: Readonly<Record<string, number | undefined>> = {
    documents: found?.documents,
    indexes: found?.indexes.length,
  };
  return (
    <>
      <div class="collection-head">
        <h2 class="cut">{collection}</h2>
        <Tabs
          label={`Views of ${collection}`}
          current={tab}
          tabs={tabs.map((each) => {
            const count = counts[each.id];
            return count === undefined ? each : { ...each, count };
          })}
        />
      </div>
      {tab === "indexes" ? (
        <Indexes app={app} collection={collection} found={found} onChange={loaded.reload} />
      ) : (
        <Documents app={app} collection={collection} total={found?.documents} />
      )}
    </>
  );
}
