/**
 * The page Statements: an editor, and below it what the last statement answered.
 */
import { useCommands } from "../../kit/command-list.ts";
import { useRef, useState, type VNode } from "../../kit/preact.ts";
import { useShortcuts } from "../../kit/shortcuts.ts";
import { setQuery } from "../../route/router.ts";
import { Button, IconButton } from "../../ui/button.tsx";
import type { KeptStatement } from "../../values/statement-history.ts";
import type { StatementPrefix } from "../../values/statement-text.ts";
import type { PageProps } from "../page.ts";
import { Arguments } from "./arguments.tsx";
import { FavouriteDialog } from "./favourite-dialog.tsx";
import { KeptDialog } from "./kept-dialog.tsx";
import { favourites } from "./kept-statements.ts";
import { ResultView } from "./result-view.tsx";
import { SeeAs, seeAsOfRoute } from "./see-as.tsx";
import { StatementEditor } from "./statement-editor.tsx";
import { type StatementSession, sessionOf } from "./statement-session.ts";
import { useTextInRoute } from "./text-in-route.ts";

export function Page({ app }: PageProps): VNode {
  const session = sessionOf(app);
  const [shown, setShown] = useState<"kept" | "favourite">();
  const focusEditor = useRef(() => {});
  useTextInRoute(session);
  const start = (prefix?: StatementPrefix): void => {
    // A plan and advice have a view of their own.
    if (prefix !== undefined) setQuery({ view: undefined }, { replace: true });
    void session.start({ as: seeAsOfRoute(), ...(prefix !== undefined && { prefix }) });
  };
  const open = (kept: KeptStatement): void => {
    setShown(undefined);
    session.write(kept.text, kept.args);
    focusEditor.current();
  };
  const close = (): void => setShown(undefined);
  useStatementShortcuts(start, () => focusEditor.current(), setShown);
  useCommands(
    favourites.value
      .filter((each) => each.app === app)
      .map((each) => ({ kind: "Favourite", title: each.name, run: () => open(each) })),
  );
  return (
    <div class="statements">
      <section class="statement-input" aria-label="Statement">
        <StatementEditor
          session={session}
          onRun={() => start()}
          onSave={() => setShown("favourite")}
          onReady={(focus) => {
            focusEditor.current = focus;
          }}
        />
        <Arguments session={session} />
        <Toolbar session={session} onStart={start} onShow={setShown} />
      </section>
      <ResultView session={session} onStart={start} />
      {shown === "kept" ? <KeptDialog app={app} onOpen={open} onClose={close} /> : null}
      {shown === "favourite" ? <FavouriteDialog session={session} onClose={close} /> : null}
    </div>
  );
}

interface ToolbarProps {
  readonly session: StatementSession;
  readonly onStart: (prefix?: StatementPrefix) => void;
  readonly onShow: (shown: "kept" | "favourite") => void;
}

function Toolbar({ session, onStart, onShow }: ToolbarProps): VNode {
  const isRunning = session.run.value?.kind === "running";
  const isEmpty = session.text.value.trim() === "";
  return (
    <div class="toolbar">
      {isRunning ? (
        <Button icon="close" onClick={() => session.cancel()}>
          Cancel
        </Button>
      ) : (
        <Button kind="primary" icon="play" isDisabled={isEmpty} onClick={() => onStart()}>
          Run
        </Button>
      )}
      {PREFIXES.map(({ prefix, name, title }) => (
        <Button
          key={prefix}
          title={title}
          isDisabled={isEmpty || isRunning}
          onClick={() => onStart(prefix)}
        >
          {name}
        </Button>
      ))}
      <span class="grow" />
      <SeeAs app={session.app} />
      <IconButton
        label="Save as favourite"
        icon="star"
        isDisabled={isEmpty}
        onClick={() => onShow("favourite")}
      />
      <Button onClick={() => onShow("kept")}>History</Button>
    </div>
  );
}

const PREFIXES: readonly {
  readonly prefix: StatementPrefix;
  readonly name: string;
  readonly title: string;
}[] = [
  { prefix: "EXPLAIN", name: "Explain", title: "Show the plan without running the statement" },
  { prefix: "PROFILE", name: "Profile", title: "Run the statement and measure each operator" },
  { prefix: "ADVISE", name: "Advise", title: "Suggest indexes for the statement" },
];

/** A dialog has a button of its own, and must not run what is behind it. */
function outsideDialogs(run: () => void): () => void {
  return () => {
    if (document.querySelector("dialog[open]") === null) run();
  };
}

function useStatementShortcuts(
  start: (prefix?: StatementPrefix) => void,
  focus: () => void,
  show: (shown: "kept" | "favourite") => void,
): void {
  useShortcuts("Statements", [
    { keys: "mod+Enter", title: "Run the statement", run: outsideDialogs(() => start()) },
    { keys: "e", title: "Go to the editor", run: focus },
    { keys: "h", title: "History and favourites", run: () => show("kept") },
    {
      keys: "mod+s",
      title: "Save as favourite",
      run: outsideDialogs(() => show("favourite")),
    },
  ]);
  useCommands([
    ...PREFIXES.map(({ prefix, title }) => {
      return { kind: "Statement", title, run: () => start(prefix) };
    }),
    { kind: "Statement", title: "History and favourites", run: () => show("kept") },
  ]);
}
