/**
 * Commands of the palette: where the console can go, and what the page that is shown can do.
 */
import { type Signal, signal, useEffect, useRef } from "./preact.ts";

export interface Command {
  readonly title: string;
  /** What kind of thing it is, such as `Page` or `Collection`. */
  readonly kind: string;
  readonly run: () => void;
}

export const commandGroups: Signal<readonly (readonly Command[])[]> = signal([]);

/** The commands are in the palette while the component is shown. */
export function useCommands(commands: readonly Command[]): void {
  const latest = useRef(commands);
  latest.current = commands;
  const names = commands.map(({ kind, title }) => `${kind} ${title}`).join("\n");
  useEffect(() => {
    const group = latest.current.map((each, i) => {
      return { ...each, run: () => latest.current[i]?.run() };
    });
    commandGroups.value = [...commandGroups.value, group];
    return () => {
      commandGroups.value = commandGroups.value.filter((other) => other !== group);
    };
  }, [names]);
}
