/**
 * The page Live: changes of a collection, or of the documents that a filter chooses, as they happen.
 */
import { rowsOf } from "../../api/execute.ts";
import { useEffect, useMemo, useState, type VNode } from "../../kit/preact.ts";
import { useShortcuts } from "../../kit/shortcuts.ts";
import { useLoad } from "../../kit/use-load.ts";
import { route, setQuery } from "../../route/router.ts";
import { Button } from "../../ui/button.tsx";
import { ErrorMessage } from "../../ui/error-message.tsx";
import { SelectField, TextField } from "../../ui/field.tsx";
import { CHANGE_TYPES, type ChangeType, SHOWN_MAX } from "../../values/live-change.ts";
import { countText } from "../../values/show-value.ts";
import type { PageProps } from "../page.ts";
import { ChangeSign } from "./change-sign.tsx";
import { ChangeTable } from "./change-table.tsx";
import { type FeedState, LiveFeed } from "./live-feed.ts";
import { LiveSummary } from "./live-summary.tsx";

export function Page({ app }: PageProps): VNode {
  const { collection, filter, hide = "" } = route.value.query;
  const feed = useMemo(
    () => new LiveFeed({ app, collection, query: filter }),
    [app, collection, filter],
  );
  useEffect(() => () => feed.close(), [feed]);
  const [isPaused, setPaused] = useState(false);
  useEffect(() => feed.setPaused(isPaused), [feed, isPaused]);
  const toggle = (): void => setPaused(!isPaused);
  useShortcuts("Live", [
    { keys: "p", title: isPaused ? "Follow again" : "Pause", run: toggle },
    { keys: "c", title: "Clear the list", run: () => feed.clear() },
  ]);
  const hidden = new Set(hide.split(","));
  return (
    <>
      <Source app={app} collection={collection ?? ""} filter={filter ?? ""} />
      <div class="toolbar">
        <Button
          kind={isPaused ? "primary" : "plain"}
          icon={isPaused ? "play" : "pause"}
          onClick={toggle}
        >
          {isPaused ? "Follow again" : "Pause"}
        </Button>
        <Button onClick={() => feed.clear()}>Clear</Button>
        <State state={feed.state.value} />
        <span class="grow" />
        <TypeToggles feed={feed} hidden={hidden} />
      </div>
      <ErrorMessage error={feed.error.value} />
      {feed.hasGap.value ? (
        <p class="note">The server no longer keeps some older changes, so they are missing here.</p>
      ) : null}
      <LiveSummary feed={feed} />
      <ChangeTable
        changes={feed.changes.value.filter(({ type }) => !hidden.has(type))}
        isFollowing={feed.state.value !== "failed"}
        isCollectionShown={collection === undefined}
      />
      {feed.changes.value.length >= SHOWN_MAX ? (
        <p class="hint">The newest {SHOWN_MAX} changes are kept here.</p>
      ) : null}
    </>
  );
}

interface SourceProps {
  readonly app: string;
  readonly collection: string;
  readonly filter: string;
}

function Source({ app, collection, filter }: SourceProps): VNode {
  const [written, setWritten] = useState(filter);
  useEffect(() => setWritten(filter), [filter]);
  const loaded = useLoad(app, (signal) => {
    const statement = "SELECT name FROM system:collections ORDER BY name";
    return rowsOf<{ readonly name: string }>(app, statement, { signal });
  });
  const names = (loaded.value ?? []).map(({ name }) => name);
  const all = collection === "" || names.includes(collection) ? names : [collection, ...names];
  const follow = (): void => setQuery({ filter: written.trim() });
  return (
    <form
      class="live-source"
      onSubmit={(event) => {
        event.preventDefault();
        follow();
      }}
    >
      <SelectField
        label="Collection"
        value={collection}
        choices={[
          { value: "", title: "All collections" },
          ...all.map((name) => ({ value: name, title: name })),
        ]}
        onChange={(name) => setQuery({ collection: name })}
      />
      <TextField
        label="Only documents where"
        value={written}
        onInput={setWritten}
        isCode
        placeholder="status == 'open' && total > 10"
      />
      <Button isSubmit isDisabled={written.trim() === filter}>
        Filter
      </Button>
    </form>
  );
}

const STATES: Readonly<Record<FeedState, string>> = {
  connecting: "Connecting…",
  following: "Following",
  paused: "Paused",
  lost: "The connection is lost; trying again",
  failed: "Stopped",
};

function State({ state }: { readonly state: FeedState }): VNode {
  return (
    <span class={`live-state ${state}`} role="status">
      {STATES[state]}
    </span>
  );
}

interface TypeTogglesProps {
  readonly feed: LiveFeed;
  readonly hidden: ReadonlySet<string>;
}

function TypeToggles({ feed, hidden }: TypeTogglesProps): VNode {
  const counts = feed.counts.value;
  const toggle = (type: ChangeType): void => {
    const next = CHANGE_TYPES.filter((each) => hidden.has(each) !== (each === type));
    setQuery({ hide: next.join(",") }, { replace: true });
  };
  return (
    <div class="type-toggles" role="group" aria-label="Shown changes">
      {CHANGE_TYPES.map((type) => (
        <Button
          key={type}
          kind="quiet"
          isPressed={!hidden.has(type)}
          title={`Show or hide: ${type}`}
          onClick={() => toggle(type)}
        >
          <ChangeSign type={type} /> <span class="muted">{countText(counts[type])}</span>
        </Button>
      ))}
    </div>
  );
}
