/**
 * The editor of the page: loads the code of the editor on use and ties it to the session.
 */
import type { Editor, EditorOptions } from "../../editor/codemirror.ts";
import { useEffect, useRef, useState, type VNode } from "../../kit/preact.ts";
import type { StatementSession } from "./statement-session.ts";
import { storeNames } from "./store-names.ts";

export interface StatementEditorProps {
  readonly session: StatementSession;
  readonly onRun: () => void;
  readonly onSave: () => void;
  /** Gets a function that moves the focus into the editor. */
  readonly onReady: (focus: () => void) => void;
}

export function StatementEditor(props: StatementEditorProps): VNode {
  const { session } = props;
  const [mistake, setMistake] = useState<string>();
  const place = useEditor(props, setMistake);
  return (
    <div class="statement-editor">
      <div ref={place} class="statement-editor-place" />
      <div class="statement-editor-foot">
        <p class={mistake === undefined ? "hint grow" : "fault grow"} role="status">
          {mistake ?? "Ctrl Enter runs, Ctrl Space completes"}
        </p>
        <StatementNumber session={session} />
      </div>
    </div>
  );
}

/** Which of several statements runs. */
function StatementNumber({ session }: { readonly session: StatementSession }): VNode | null {
  const { index, count } = session.position();
  if (count < 2) return null;
  return (
    <span class="hint">
      Statement {index} of {count}
    </span>
  );
}

function useEditor(
  props: StatementEditorProps,
  onMistake: (message: string | undefined) => void,
): { current: HTMLDivElement | null } {
  const place = useRef<HTMLDivElement>(null);
  const latest = useRef(props);
  latest.current = props;
  const { session } = props;
  useEffect(() => {
    let editor: Editor | undefined;
    let isGone = false;
    const stops: (() => void)[] = [];
    void import("../../editor/codemirror.ts").then(({ openEditor }) => {
      const parent = place.current;
      if (isGone || parent === null) return;
      const options = optionsOf(parent, session, onMistake);
      const opened = openEditor({
        ...options,
        onRun: () => latest.current.onRun(),
        onSave: () => latest.current.onSave(),
      });
      editor = opened;
      stops.push(
        session.text.subscribe((text) => opened.setText(text)),
        session.marked.subscribe((mark) => {
          if (mark !== undefined) opened.mark(mark.from, mark.to, mark.message);
        }),
      );
      latest.current.onReady(() => opened.focus());
    });
    return () => {
      isGone = true;
      for (const stop of stops) stop();
      editor?.destroy();
    };
  }, [session]);
  return place;
}

function optionsOf(
  parent: HTMLElement,
  session: StatementSession,
  onMistake: (message: string | undefined) => void,
): Omit<EditorOptions, "onRun" | "onSave"> {
  return {
    parent,
    text: session.text.value,
    label: "Statement",
    placeholder: "SELECT * FROM …",
    names: storeNames(session.app),
    onChange: (text) => session.write(text),
    onSelect: (from, to) => {
      session.selection.value = { from, to };
    },
    onMistake,
  };
}
