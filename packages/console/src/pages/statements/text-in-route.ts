/**
 * Keeps the text of the editor in the address, so that a copied address opens it elsewhere, and two
 * tabs of a browser do not take each other's text at a reload.
 */
import { useEffect, useRef } from "../../kit/preact.ts";
import { route, setQuery } from "../../route/router.ts";
import type { StatementSession } from "./statement-session.ts";

/** A longer text is in the storage of the browser alone. */
const LENGTH_MAX = 3000;
const TYPING_PAUSE_MS = 300;

export function useTextInRoute(session: StatementSession): void {
  const { statement, args } = route.value.query;
  // What this page put there: later typing must not be undone by it.
  const written = useRef<string | undefined>(undefined);
  useEffect(() => {
    // From a link, or by the buttons of the browser.
    if (statement === undefined || statement === written.current) return;
    written.current = statement;
    if (statement !== session.text.peek()) session.write(statement, args ?? "");
  }, [statement, args]);
  const text = session.text.value;
  const argsText = session.args.value;
  useEffect(() => {
    const timer = setTimeout(() => {
      const isShort = text.length + argsText.length <= LENGTH_MAX;
      written.current = isShort ? text : undefined;
      const query = { statement: written.current, args: isShort ? argsText : undefined };
      setQuery(query, { replace: true });
    }, TYPING_PAUSE_MS);
    return () => clearTimeout(timer);
  }, [text, argsText]);
}
