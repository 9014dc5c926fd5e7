/**
 * Values of the parameters that the statement names, as a JSON object.
 */
import { outlineStatement } from "@bigpeer/engine/language";
import { useMemo, type VNode } from "../../kit/preact.ts";
import { Button } from "../../ui/button.tsx";
import { TextArea } from "../../ui/field.tsx";
import { addMissing, readArguments } from "../../values/statement-text.ts";
import type { StatementSession } from "./statement-session.ts";

const ROWS_MAX = 8;

/** Nothing while the statement names none and there are no values. */
export function Arguments({ session }: { readonly session: StatementSession }): VNode | null {
  const text = session.args.value;
  const statement = session.current()?.text ?? "";
  const parameters = useMemo(() => outlineStatement(statement)?.parameters ?? [], [statement]);
  if (parameters.length === 0 && text.trim() === "") return null;
  const { args, fault } = readArguments(text);
  const missing = parameters.filter((name) => !Object.hasOwn(args, name));
  const write = (next: string): void => session.write(session.text.value, next);
  return (
    <div class="statement-arguments">
      <TextArea
        label="Parameters, a JSON object"
        value={text}
        onInput={write}
        rows={Math.min(ROWS_MAX, Math.max(2, text.split("\n").length))}
        placeholder='{"name": "value"}'
        fault={fault}
        {...(missing.length > 0 && { hint: `Without a value: ${missing.join(", ")}` })}
      />
      {missing.length > 0 && fault === undefined ? (
        <Button onClick={() => write(addMissing(text, parameters))}>
          Add {missing.length === 1 ? missing[0] : "missing ones"}
        </Button>
      ) : null}
    </div>
  );
}
