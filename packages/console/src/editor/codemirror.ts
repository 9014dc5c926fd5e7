/**
 * The editor of statements, on CodeMirror: the one file that imports it. Pages load it on use.
 *
 * Colours, completion and errors come from the texts of the engine, so the editor says what the
 * server says. It lives in a shadow root: there CodeMirror adopts style sheets, where in the page it
 * would add a style element, which the Content-Security-Policy refuses.
 */
import {
  acceptCompletion,
  autocompletion,
  type Completion,
  type CompletionContext,
  type CompletionResult,
  closeBrackets,
  closeBracketsKeymap,
  closeCompletion,
  completionKeymap,
} from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, toggleComment } from "@codemirror/commands";
import { bracketMatching } from "@codemirror/language";
import { type Diagnostic, linter, lintKeymap, setDiagnostics } from "@codemirror/lint";
import { Annotation, EditorState, type Extension, Prec, RangeSetBuilder } from "@codemirror/state";
import {
  Decoration,
  type DecorationSet,
  EditorView,
  keymap,
  lineNumbers,
  placeholder,
  ViewPlugin,
  type ViewUpdate,
} from "@codemirror/view";
import { EDITOR_STYLES } from "./editor-styles.ts";
import {
  type CompletionOption,
  colourOf,
  mistakesIn,
  type StoreNames,
  suggest,
} from "./statement-help.ts";

export interface EditorOptions {
  readonly parent: HTMLElement;
  readonly text: string;
  /** Its name for screen readers. */
  readonly label: string;
  readonly placeholder: string;
  readonly names: StoreNames;
  readonly onChange: (text: string) => void;
  /** The position of the cursor, and the end of the selection. */
  readonly onSelect: (from: number, to: number) => void;
  readonly onRun: () => void;
  readonly onSave: () => void;
  /** The first mistake, after typing has paused; undefined if there is none. */
  readonly onMistake: (message: string | undefined) => void;
}

export interface Editor {
  readonly setText: (text: string) => void;
  /** Marks a place until the text changes. */
  readonly mark: (from: number, to: number, message: string) => void;
  readonly focus: () => void;
  readonly destroy: () => void;
}

const TYPING_PAUSE_MS = 300;

/** Beyond it, colours and errors would slow typing. */
const HELPED_LENGTH_MAX = 200_000;

/** Marks a change that did not come from typing. */
const isFromOutside = Annotation.define<boolean>();

export function openEditor(options: EditorOptions): Editor {
  const root = options.parent.attachShadow({ mode: "open" });
  const view = new EditorView({ parent: root, root, state: stateOf(options) });
  return {
    setText: (text) => {
      if (view.state.doc.toString() === text) return;
      view.dispatch({
        changes: { from: 0, to: view.state.doc.length, insert: text },
        selection: { anchor: text.length },
        annotations: isFromOutside.of(true),
      });
    },
    mark: (from, to, message) => {
      const end = Math.min(Math.max(to, from), view.state.doc.length);
      const diagnostic: Diagnostic = {
        from: Math.min(from, end),
        to: end,
        message,
        severity: "error",
      };
      view.dispatch(setDiagnostics(view.state, [diagnostic]));
    },
    focus: () => view.focus(),
    destroy: () => view.destroy(),
  };
}

function stateOf(options: EditorOptions): EditorState {
  return EditorState.create({
    doc: options.text,
    selection: { anchor: options.text.length },
    extensions: [
      keysOf(options),
      history(),
      lineNumbers(),
      EditorView.lineWrapping,
      bracketMatching(),
      closeBrackets(),
      autocompletion({
        override: [(context) => completionsFor(context, options.names)],
        icons: false,
        addToOptions: [{ render: renderDetail, position: 90 }],
      }),
      linter((view) => mistakeDiagnostics(view, options), { delay: TYPING_PAUSE_MS }),
      colours,
      placeholder(options.placeholder),
      EditorView.contentAttributes.of({
        "aria-label": options.label,
        spellcheck: "false",
        autocorrect: "off",
        autocapitalize: "off",
      }),
      EditorView.updateListener.of((update) => report(update, options)),
      EditorView.theme(EDITOR_STYLES),
    ],
  });
}

function keysOf({ onRun, onSave }: EditorOptions): Extension {
  return [
    Prec.highest(
      keymap.of([
        {
          key: "Mod-Enter",
          run: (view) => {
            closeCompletion(view);
            onRun();
            return true;
          },
        },
        {
          key: "Mod-s",
          run: () => {
            onSave();
            return true;
          },
        },
        { key: "Mod-/", run: toggleComment },
        // Tab leaves the editor, except that it takes what is offered.
        { key: "Tab", run: acceptCompletion },
      ]),
    ),
    // The palette of the console has Ctrl-K.
    keymap.of([
      ...closeBracketsKeymap,
      ...completionKeymap,
      ...historyKeymap,
      ...lintKeymap,
      ...defaultKeymap.filter(({ key }) => key !== "Mod-k"),
    ]),
  ];
}

function report(update: ViewUpdate, { onChange, onSelect }: EditorOptions): void {
  const isTyped = !update.transactions.some((each) => each.annotation(isFromOutside) === true);
  if (update.docChanged && isTyped) onChange(update.state.doc.toString());
  if (update.docChanged || update.selectionSet) {
    const { from, to } = update.state.selection.main;
    onSelect(from, to);
  }
}

function mistakeDiagnostics(view: EditorView, { onMistake }: EditorOptions): Diagnostic[] {
  const text = view.state.doc.toString();
  if (text.length > HELPED_LENGTH_MAX) return [];
  const mistakes = mistakesIn(text);
  const [first] = mistakes;
  if (first === undefined) onMistake(undefined);
  else {
    const line = view.state.doc.lineAt(first.at);
    onMistake(`Line ${line.number}, column ${first.at - line.from + 1}: ${first.message}`);
  }
  return mistakes.map(({ at, end, message }) => ({
    from: at,
    to: end,
    message,
    severity: "error" as const,
  }));
}

async function completionsFor(
  context: CompletionContext,
  names: StoreNames,
): Promise<CompletionResult | null> {
  const { state, pos, explicit } = context;
  if (state.doc.length > HELPED_LENGTH_MAX) return null;
  const found = await suggest(state.doc.toString(), pos, names, explicit);
  if (found === undefined || context.aborted) return null;
  const options = found.options.map(completionOf);
  return { from: found.from, options, validFor: /^[\p{L}_]?[\w]*$/u };
}

function completionOf({ label, kind, boost }: CompletionOption): Completion {
  const isFunction = kind === "function";
  return {
    label,
    type: kind,
    boost,
    ...(isFunction && { displayLabel: `${label}()`, apply: applyCall }),
  };
}

/** Puts the cursor between the parentheses. */
function applyCall(view: EditorView, { label }: Completion, from: number, to: number): void {
  const hasParenthesis = view.state.sliceDoc(to, to + 1) === "(";
  const insert = hasParenthesis ? label : `${label}()`;
  const anchor = from + label.length + 1;
  view.dispatch({
    changes: { from, to, insert },
    selection: { anchor },
    userEvent: "input.complete",
  });
}

/** What kind of thing it is, at the right. */
function renderDetail({ type }: Completion): Node {
  const element = document.createElement("span");
  element.className = "kind";
  element.textContent = type ?? "";
  return element;
}

const colours = ViewPlugin.define(
  (view) => {
    return new Colours(view);
  },
  { decorations: (plugin) => plugin.decorations },
);

class Colours {
  decorations: DecorationSet;

  constructor(view: EditorView) {
    this.decorations = decorate(view);
  }

  update(update: ViewUpdate): void {
    if (update.docChanged) this.decorations = decorate(update.view);
  }
}

function decorate(view: EditorView): DecorationSet {
  const builder = new RangeSetBuilder<Decoration>();
  const text = view.state.doc.toString();
  if (text.length > HELPED_LENGTH_MAX) return builder.finish();
  for (const { from, to, className } of colourOf(text)) {
    builder.add(from, to, markOf(className));
  }
  return builder.finish();
}

const marks = new Map<string, Decoration>();

function markOf(className: string): Decoration {
  let mark = marks.get(className);
  if (mark === undefined) {
    mark = Decoration.mark({ class: className });
    marks.set(className, mark);
  }
  return mark;
}
