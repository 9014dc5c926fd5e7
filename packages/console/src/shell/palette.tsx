/**
 * Command palette: type a part of a page, an app, a collection or an action, and Enter does it.
 */
import { type Command, commandGroups } from "../kit/command-list.ts";
import {
  type TargetedKeyboardEvent,
  useEffect,
  useId,
  useRef,
  useState,
  type VNode,
} from "../kit/preact.ts";
import { searchItems } from "../values/search.ts";

const SHOWN_MAX = 50;

export function Palette({ onClose }: { readonly onClose: () => void }): VNode {
  const [search, setSearch] = useState("");
  const [chosen, setChosen] = useState(0);
  const id = useId();
  const element = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const dialog = element.current;
    dialog?.showModal();
    return () => dialog?.close();
  }, []);
  const all = commandGroups.value.flat();
  const found = searchItems(all, ({ title, kind }) => `${title} ${kind}`, search);
  const commands = found.slice(0, SHOWN_MAX);
  const at = Math.min(chosen, commands.length - 1);
  const run = (command: Command | undefined): void => {
    if (command === undefined) return;
    onClose();
    command.run();
  };
  const keyDown = (event: TargetedKeyboardEvent<HTMLInputElement>): void => {
    const step = STEPS[event.key];
    if (step !== undefined) setChosen((at + step + commands.length) % commands.length);
    else if (event.key === "Enter") run(commands[at]);
    else return;
    event.preventDefault();
  };
  return (
    <dialog
      ref={element}
      class="dialog palette"
      aria-label="Commands"
      onCancel={onClose}
      // Beside the palette: its parts cover all of it.
      onClick={(event) => {
        if (event.target === event.currentTarget) onClose();
      }}
    >
      <input
        class="input"
        role="combobox"
        aria-label="Find a command"
        aria-expanded="true"
        aria-controls={`${id}-list`}
        aria-activedescendant={at < 0 ? undefined : `${id}-${at}`}
        aria-autocomplete="list"
        placeholder="Page, collection, app or action"
        autocomplete="off"
        spellcheck={false}
        value={search}
        onKeyDown={keyDown}
        onInput={(event) => {
          setSearch(event.currentTarget.value);
          setChosen(0);
        }}
      />
      <Commands id={id} commands={commands} at={at} onRun={run} />
      {commands.length === 0 ? <p class="muted palette-empty">No command matches.</p> : null}
    </dialog>
  );
}

const STEPS: Readonly<Record<string, number>> = { ArrowDown: 1, ArrowUp: -1 };

interface CommandsProps {
  readonly id: string;
  readonly commands: readonly Command[];
  readonly at: number;
  readonly onRun: (command: Command) => void;
}

/** The focus stays in the text box, which names the chosen one. */
function Commands({ id, commands, at, onRun }: CommandsProps): VNode {
  const chosen = useRef<HTMLDivElement>(null);
  useEffect(() => chosen.current?.scrollIntoView({ block: "nearest" }), [at]);
  return (
    <div id={`${id}-list`} role="listbox" aria-label="Commands" class="palette-list" tabIndex={-1}>
      {commands.map((command, i) => (
        <div
          key={`${command.kind} ${command.title}`}
          id={`${id}-${i}`}
          ref={i === at ? chosen : null}
          role="option"
          aria-selected={i === at}
          class="palette-option"
          onClick={() => onRun(command)}
        >
          <span class="grow">{command.title}</span>
          <span class="muted">{command.kind}</span>
        </div>
      ))}
    </div>
  );
}
