/**
 * What recent statements on a collection say about its indexes: which ones they use, and which ones
 * they would use if there were any.
 */
import { quoteName } from "../values/names.ts";
import { rowsOf } from "./execute.ts";

export interface Advice {
  /** Creates the index. */
  readonly statement: string;
  /** The statement that would use it. */
  readonly because: string;
}

export interface IndexUse {
  /** Recent statements that use it. */
  readonly count: number;
  /** Milliseconds since 1970. */
  readonly lastAt: number;
}

export interface IndexReport {
  readonly advice: readonly Advice[];
  /** By the name of the index. */
  readonly uses: ReadonlyMap<string, IndexUse>;
}

/** So many texts are looked at, those that took longest. */
const TEXTS_MAX = 16;

const RECENT = `SELECT text, COUNT(*) AS n, MAX(requestTime) AS lastAt, MAX(times.elapsed) AS ms
  FROM system:request_history
  WHERE contains(text, :name) AND requestType = 'execute' AND state = 'completed'
    AND queryType IN ['select', 'update', 'delete']
  GROUP BY text ORDER BY ms DESC LIMIT ${TEXTS_MAX}`;

interface RecentText {
  readonly text: string;
  readonly n: number;
  readonly lastAt: number;
}

export interface ReportRequest {
  readonly app: string;
  readonly collection: string;
  readonly signal: AbortSignal;
}

export async function loadIndexReport(request: ReportRequest): Promise<IndexReport> {
  const { app, collection, signal } = request;
  const args = { name: quoteName(collection) };
  const recent = await rowsOf<RecentText>(app, RECENT, { args, signal });
  const advice = new Map<string, Advice>();
  const uses = new Map<string, IndexUse>();
  for (const { text, n, lastAt } of recent) {
    for (const statement of await suggestions(request, text)) {
      if (!advice.has(statement)) advice.set(statement, { statement, because: text });
    }
    for (const index of await usedIndexes(request, text)) {
      const former = uses.get(index) ?? { count: 0, lastAt: 0 };
      uses.set(index, { count: former.count + n, lastAt: Math.max(former.lastAt, lastAt) });
    }
  }
  return { advice: [...advice.values()], uses };
}

interface AdviceRow {
  readonly advice?: {
    readonly suggestedIndexes?: readonly {
      readonly collection: string;
      readonly statement: string;
    }[];
  };
}

async function suggestions(request: ReportRequest, text: string): Promise<readonly string[]> {
  const [row] = await explained<AdviceRow>(request, `ADVISE ${text}`);
  const all = row?.advice?.suggestedIndexes ?? [];
  return all
    .filter(({ collection }) => collection === request.collection)
    .map(({ statement }) => statement);
}

async function usedIndexes(request: ReportRequest, text: string): Promise<readonly string[]> {
  const [row] = await explained<{ readonly plan?: unknown }>(request, `EXPLAIN ${text}`);
  return [...new Set(indexScans(row?.plan, request.collection))];
}

/** None for a text that cannot be explained, such as one of another operation. */
async function explained<Row>(
  { app, signal }: ReportRequest,
  statement: string,
): Promise<readonly Row[]> {
  try {
    return await rowsOf<Row>(app, statement, { signal });
  } catch (error) {
    if (signal.aborted) throw error;
    return [];
  }
}

interface PlanNode {
  readonly "#operator"?: string;
  readonly collection?: string;
  readonly desc?: { readonly index?: string };
}

/** The names of the indexes in a plan. */
function indexScans(node: unknown, collection: string): readonly string[] {
  if (typeof node !== "object" || node === null) return [];
  const { "#operator": operator, collection: own, desc } = node as PlanNode;
  const isScan = operator === "indexScan" && own === collection && desc?.index !== undefined;
  const below = Object.values(node).flatMap((child) => indexScans(child, collection));
  return isScan ? [desc.index, ...below] : below;
}
