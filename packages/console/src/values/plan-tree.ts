/**
 * Plan tree: the plan that EXPLAIN and PROFILE answer, as lines to show. Each operator has a title, a
 * detail, its rows and time, and a warning where it reads documents that an index could skip.
 */

export interface PlanLine {
  readonly operator: string;
  readonly title: string;
  /** What it works on: a collection, a condition, keys. */
  readonly detail: string;
  readonly warning: string | undefined;
  /** Of a PROFILE. */
  readonly rows: number | undefined;
  readonly ms: number | undefined;
  /** Its part of the time of all operators, from 0 to 1. */
  readonly share: number;
  /** Whether it took the most time. */
  readonly isHot: boolean;
  readonly children: readonly PlanLine[];
}

export interface Profile {
  readonly plan: readonly PlanLine[];
  readonly elapsedMs: number;
  readonly parseMs: number;
  readonly planMs: number;
  readonly rows: number;
}

type Part = Readonly<Record<string, unknown>>;

const TITLES: Readonly<Record<string, string>> = {
  idScan: "Lookup by id",
  indexScan: "Index scan",
  unionScan: "Union of indexes",
  intersectScan: "Intersection of indexes",
  countScan: "Stored count",
  fetch: "Fetch documents",
  nlJoin: "Nested-loop join",
  hashJoin: "Hash join",
  unnest: "Unnest",
  filter: "Filter",
  group: "Group",
  sort: "Sort",
  projection: "Projection",
  distinct: "Distinct",
  limit: "Limit",
  subquery: "Subquery",
  union: "Union",
  insert: "Insert",
  update: "Update",
  delete: "Delete",
};

/** Operators for which rows in another order or number than they are stored must all be read. */
const READS_ALL = new Set(["filter", "group", "sort", "nlJoin", "hashJoin", "delete", "update"]);

/** The lines of a plan in the order in which rows pass them. */
export function planLines(plan: unknown): readonly PlanLine[] {
  const lines = linesOf(plan, false);
  const all = [...walk(lines)];
  const total = all.reduce((sum, { ms = 0 }) => sum + ms, 0);
  const most = Math.max(0, ...all.map(({ ms = 0 }) => ms));
  return lines.map((line) => withShare(line, total, most));
}

/** The last row of a PROFILE, or undefined. */
export function readProfile(row: unknown): Profile | undefined {
  if (!isPart(row) || !isPart(row["~request_profile"])) return undefined;
  const { plan, times, resultCount } = row["~request_profile"];
  const { elapsed, parse, plan: planning } = isPart(times) ? times : {};
  return {
    plan: planLines(plan),
    elapsedMs: msOf(elapsed) ?? 0,
    parseMs: msOf(parse) ?? 0,
    planMs: msOf(planning) ?? 0,
    rows: typeof resultCount === "number" ? resultCount : 0,
  };
}

/** The warnings of all lines, each once. */
export function planWarnings(lines: readonly PlanLine[]): readonly string[] {
  return [...new Set([...walk(lines)].flatMap(({ warning }) => warning ?? []))];
}

function* walk(lines: readonly PlanLine[]): Generator<PlanLine> {
  for (const line of lines) {
    yield line;
    yield* walk(line.children);
  }
}

function withShare(line: PlanLine, total: number, most: number): PlanLine {
  const { ms = 0 } = line;
  return {
    ...line,
    share: total === 0 ? 0 : ms / total,
    isHot: ms > 0 && ms === most,
    children: line.children.map((child) => withShare(child, total, most)),
  };
}

/** `isNeedy` is a plan whose every row is read, such as the inner side of a join. */
function linesOf(part: unknown, isNeedy: boolean): readonly PlanLine[] {
  if (!isPart(part)) return [];
  if (part["#operator"] !== "sequence") return [lineOf(part, isNeedy)];
  const children = listOf(part["children"]);
  const readsAll = isNeedy || children.some((each) => READS_ALL.has(nameOf(each)));
  return children.map((child) => lineOf(child, readsAll));
}

function lineOf(part: Part, isNeedy: boolean): PlanLine {
  const operator = nameOf(part);
  const { rows, time } = isPart(part["#stats"]) ? part["#stats"] : {};
  const isLookup = operator === "nlJoin" && part["id"] !== undefined;
  const inner = isLookup ? [] : linesOf(part["inner"], true);
  const isJoin = operator === "nlJoin";
  const arms = listOf(part["children"]).flatMap((child) => linesOf(child, false));
  const subqueries = listOf(part["subqueries"]).map((each) => subqueryLine(each));
  return {
    operator,
    title: titleOf(part),
    detail: detailOf(part),
    warning: warningOf(part, isNeedy),
    rows: typeof rows === "number" ? rows : undefined,
    ms: msOf(time),
    share: 0,
    isHot: false,
    children: [...inner.map((line) => (isJoin ? perRow(line) : line)), ...arms, ...subqueries],
  };
}

/** The inner side of a nested-loop join is read again for each row. */
function perRow(line: PlanLine): PlanLine {
  const { warning } = line;
  return warning === undefined ? line : { ...line, warning: `${warning}, for each row` };
}

function subqueryLine(part: Part): PlanLine {
  const isCorrelated = part["isCorrelated"] === true;
  return {
    operator: "subquery",
    title: "Subquery",
    detail: isCorrelated ? "once for each row" : "once",
    warning: undefined,
    rows: undefined,
    ms: undefined,
    share: 0,
    isHot: false,
    children: linesOf(part, isCorrelated),
  };
}

function titleOf(part: Part): string {
  const operator = nameOf(part);
  if (operator === "scan") return isFullScan(part) ? "Full scan" : "Range of ids";
  return TITLES[operator] ?? operator;
}

function warningOf(part: Part, isNeedy: boolean): string | undefined {
  if (!isFullScan(part) || !isNeedy || part["datasource"] === "system") return undefined;
  return `Reads every document of ${String(part["collection"])}`;
}

function isFullScan(part: Part): boolean {
  const descriptor = part["descriptor"];
  if (nameOf(part) !== "scan" || !isPart(descriptor) || !isPart(descriptor["path"])) return false;
  return "full_scan" in descriptor["path"];
}

function detailOf(part: Part): string {
  const { collection, alias, datasource } = part;
  const namespace = datasource === "system" ? "system:" : "";
  const isNamed = typeof collection === "string";
  const where = isNamed ? `${namespace}${collection}${aliasText(alias, collection)}` : "";
  return [where, ...workOf(part)].filter((text) => text !== "").join(" · ");
}

function aliasText(alias: unknown, collection: string): string {
  return typeof alias === "string" && alias !== collection ? ` ${alias}` : "";
}

/** What an operator does, from the parts that it has. */
function workOf(part: Part): string[] {
  const { condition, on, ids, desc, keys, aggregates, projections, limit, offset } = part;
  const texts: string[] = [];
  if (isPart(desc)) texts.push(...indexTexts(desc));
  if (typeof ids === "string") texts.push(`ids ${ids}`);
  if (Array.isArray(ids)) texts.push(`ids ${ids.join(", ")}`);
  if (isPart(part["descriptor"])) texts.push(rangeText(part["descriptor"]["path"]));
  if (typeof condition === "string") texts.push(condition);
  if (typeof on === "string") texts.push(`on ${on}`);
  if (nameOf(part) === "nlJoin" && part["id"] !== undefined) {
    const { inner } = part;
    const collection = isPart(inner) ? String(inner["collection"]) : "";
    texts.push(`looks ${collection} up by id`);
  }
  if (Array.isArray(keys) && keys.length > 0) texts.push(keys.map(keyText).join(", "));
  if (Array.isArray(aggregates) && aggregates.length > 0) texts.push(aggregates.join(", "));
  if (Array.isArray(projections)) texts.push(projections.map(columnText).join(", "));
  if (typeof limit === "string") texts.push(limit);
  if (typeof offset === "string") texts.push(`offset ${offset}`);
  if (nameOf(part) === "unnest") texts.push(String(part["expression"]));
  return texts;
}

function indexTexts(desc: Part): string[] {
  const spans = listOf(desc["spans"]).map((span) => {
    const path = Array.isArray(span["key"]) ? span["key"].join(".") : "";
    return `${path} ${rangeText(span["range"])}`.trim();
  });
  const covers = desc["covering"] === true ? ["covers the statement"] : [];
  return [String(desc["index"]), ...spans, ...covers];
}

/** `= 'a'`, `> 3, < 7`, `IN list`. */
function rangeText(range: unknown): string {
  if (!isPart(range)) return "";
  if (isPart(range["id_range"])) return `_id ${rangeText(range["id_range"])}`;
  const { low, high, in: list, is, like } = range;
  if (isPart(low) && isPart(high) && low["expr"] === high["expr"])
    return `= ${String(low["expr"])}`;
  const texts = [
    ...boundsOf(low).map(
      (bound) => `${bound["included"] === true ? ">=" : ">"} ${String(bound["expr"])}`,
    ),
    ...boundsOf(high).map(
      (bound) => `${bound["included"] === true ? "<=" : "<"} ${String(bound["expr"])}`,
    ),
  ];
  if (typeof list === "string") texts.push(`IN ${list}`);
  if (typeof is === "string") texts.push(`IS ${is}`);
  if (typeof like === "string") texts.push(`LIKE ${like}`);
  return texts.join(", ");
}

function boundsOf(bounds: unknown): readonly Part[] {
  return isPart(bounds) ? [bounds] : listOf(bounds);
}

function keyText(key: unknown): string {
  if (!isPart(key)) return String(key);
  return `${String(key["expression"])}${key["direction"] === "desc" ? " DESC" : ""}`;
}

function columnText(column: unknown): string {
  if (!isPart(column)) return "";
  const { name, expression, wildcard } = column;
  const text = typeof expression === "string" ? expression : "";
  if (wildcard === true) return text === "" ? "*" : `${text}.*`;
  return text === name || text.endsWith(`.${String(name)}`) ? text : `${text} AS ${String(name)}`;
}

function nameOf(part: Part): string {
  return typeof part["#operator"] === "string" ? part["#operator"] : "";
}

function listOf(value: unknown): readonly Part[] {
  return Array.isArray(value) ? value.filter(isPart) : [];
}

function isPart(value: unknown): value is Part {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function msOf(nanoseconds: unknown): number | undefined {
  return typeof nanoseconds === "number" ? nanoseconds / 1e6 : undefined;
}
