/**
 * The foot of a list: how many documents there are, how long the page took, and the pages beside it.
 */

import { stringifyExact } from "@bigpeer/client/exact-json";
import type { DocumentPage } from "../../api/documents.ts";
import { rowsOf } from "../../api/execute.ts";
import { ApiError } from "../../api/request.ts";
import { type Cursor, formatCursor, whereText } from "../../data/document-page.ts";
import { useEffect, useState, type VNode } from "../../kit/preact.ts";
import { setQuery } from "../../route/router.ts";
import { Button, IconButton } from "../../ui/button.tsx";
import { quoteName } from "../../values/names.ts";
import { countText, plural } from "../../values/show-value.ts";
import { durationText } from "../../values/time-text.ts";
import { type DataState, showFirstPage } from "./data-state.ts";

export interface PagerProps {
  readonly app: string;
  readonly collection: string;
  readonly state: DataState;
  readonly page: DocumentPage;
  readonly total: number | undefined;
}

export function Pager(props: PagerProps): VNode {
  const { state, page, total } = props;
  const { rows, hasNext, hasPrevious, ms, warnings } = page;
  const isFiltered = state.condition.text !== "";
  return (
    <div class="pager">
      <p class="muted grow" role="status">
        {isFiltered || total === undefined
          ? plural(rows.length, "document")
          : `${countText(rows.length)} of ${plural(total, "document")}`}{" "}
        · {durationText(Math.round(ms))}
        {warnings.length === 0 ? "" : ` · ${warnings[0]}`}
      </p>
      {isFiltered ? <MatchCount key={stringifyExact(state.condition)} {...props} /> : null}
      <Button isDisabled={!hasPrevious} onClick={() => showFirstPage({})}>
        First
      </Button>
      <IconButton
        label="Previous page"
        icon="left"
        isDisabled={!hasPrevious}
        onClick={() => show(previousOf(state, rows.length, rows[0]?.["_id"]))}
      />
      <IconButton
        label="Next page"
        icon="right"
        isDisabled={!hasNext}
        onClick={() => show(nextOf(state, rows.length, rows.at(-1)?.["_id"]))}
      />
    </div>
  );
}

/** The number of all matches: counted on request only, because this may read the whole collection. */
function MatchCount({ app, collection, state }: PagerProps): VNode {
  const [text, setText] = useState<string>();
  const [isCounting, setCounting] = useState(false);
  const [controller] = useState(() => new AbortController());
  useEffect(() => () => controller.abort(), []);
  const count = async (): Promise<void> => {
    setCounting(true);
    const { condition } = state;
    const { args } = condition;
    try {
      const statement = `SELECT COUNT(*) AS n FROM ${quoteName(collection)}${whereText(condition)}`;
      const [row] = await rowsOf(app, statement, { args, signal: controller.signal });
      setText(plural(Number(row?.["n"]), "match", "matches"));
    } catch (error) {
      if (!controller.signal.aborted) setText(ApiError.from(error).message);
    }
    setCounting(false);
  };
  if (text !== undefined) return <p role="status">{text}</p>;
  return (
    <Button isDisabled={isCounting} onClick={() => void count()}>
      {isCounting ? "Counting…" : "Count matches"}
    </Button>
  );
}

function show(cursor: Cursor): void {
  setQuery(formatCursor(cursor));
}

function offsetOf({ cursor }: DataState): number {
  return cursor !== undefined && "offset" in cursor ? cursor.offset : 0;
}

function nextOf(state: DataState, shown: number, lastId: unknown): Cursor {
  return state.sort === undefined ? { after: lastId } : { offset: offsetOf(state) + shown };
}

function previousOf(state: DataState, shown: number, firstId: unknown): Cursor {
  if (state.sort === undefined) return { before: firstId };
  return { offset: Math.max(0, offsetOf(state) - Math.max(shown, PAGE_STEP)) };
}

const PAGE_STEP = 50;
