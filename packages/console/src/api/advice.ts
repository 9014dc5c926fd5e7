/**
 * The indexes that recent statements on a collection would use if they existed.
 */
import { quoteName } from "../values/names.ts";
import { rowsOf } from "./execute.ts";

export interface Advice {
  /** Creates the index. */
  readonly statement: string;
  /** The statement that would use it. */
  readonly because: string;
}

/** So many texts are looked at, those that took longest. */
const TEXTS_MAX = 16;

const RECENT = `SELECT text, MAX(times.elapsed) AS ms
  FROM system:request_history
  WHERE contains(text, :name) AND requestType = 'execute' AND state = 'completed'
    AND queryType IN ['select', 'update', 'delete']
  GROUP BY text ORDER BY ms DESC LIMIT ${TEXTS_MAX}`;

interface RecentText {
  readonly text: string;
}

export interface AdviceRequest {
  readonly app: string;
  readonly collection: string;
  readonly signal: AbortSignal;
}

export async function loadAdvice(request: AdviceRequest): Promise<readonly Advice[]> {
  const { app, collection, signal } = request;
  const args = { name: quoteName(collection) };
  const advice = new Map<string, Advice>();
  for (const { text } of await rowsOf<RecentText>(app, RECENT, { args, signal })) {
    for (const statement of await suggestions(request, text)) {
      if (!advice.has(statement)) advice.set(statement, { statement, because: text });
    }
  }
  return [...advice.values()];
}

interface AdviceRow {
  readonly advice?: {
    readonly suggestedIndexes?: readonly {
      readonly collection: string;
      readonly statement: string;
    }[];
  };
}

/** None for a text that cannot be explained, such as one of another operation. */
async function suggestions(
  { app, collection, signal }: AdviceRequest,
  text: string,
): Promise<readonly string[]> {
  try {
    const [row] = await rowsOf<AdviceRow>(app, `ADVISE ${text}`, { signal });
    const all = row?.advice?.suggestedIndexes ?? [];
    return all.filter((each) => each.collection === collection).map(({ statement }) => statement);
  } catch (error) {
    if (signal.aborted) throw error;
    return [];
  }
}
