/**
 * Keeps the text of the editor in the address, so that a copied address opens it elsewhere, and two
 * tabs of a browser do not take each other's text at a reload. Between a change and a pause in typing
 * the address has no text: a reload then takes the draft, which has all of it.
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
    const isKnown = statement === undefined || statement === written.current;
    written.current = statement;
    if (isKnown) return;
    // From a link, or by the buttons of the browser.
    const isShown = statement === session.text.peek() && (args ?? "") === session.args.peek();
    if (!isShown) session.write(statement, args ?? "");
  }, [statement, args]);
  useEffect(() => {
    const stops = [
      session.text.subscribe((text) => dropOlder("statement", text)),
      session.args.subscribe((text) => dropOlder("args", text)),
    ];
    return () => {
      for (const stop of stops) stop();
    };
  }, [session]);
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

/** Takes the statement out of the address once a part of it has changed. */
function dropOlder(name: "statement" | "args", text: string): void {
  const { statement, [name]: kept = "" } = route.peek().query;
  if (statement === undefined || kept === text) return;
  setQuery({ statement: undefined, args: undefined }, { replace: true });
}
