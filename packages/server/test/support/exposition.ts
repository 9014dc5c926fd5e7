/**
 * Reads the text format of Prometheus, strictly: every line is a HELP, a TYPE or a sample of the
 * metric that was announced last.
 */

export interface Exposition {
  /** Each sample: its name with the labels, in their order of names, and the value. */
  readonly samples: ReadonlyMap<string, number>;
  /** The type of each metric. */
  readonly types: ReadonlyMap<string, string>;
}

const NAME = "[a-zA-Z_][a-zA-Z0-9_]*";
const SAMPLE = new RegExp(`^(${NAME})(?:\\{(.+)\\})? (\\S+)$`);
const LABEL = new RegExp(`(${NAME})="((?:[^"\\\\\\n]|\\\\["\\\\n])*)"`);
const LABELS = new RegExp(`^${LABEL.source}(?:,${LABEL.source})*$`);

/** Throws an Error with the line that is wrong. */
export function readExposition(text: string): Exposition {
  const samples = new Map<string, number>();
  const types = new Map<string, string>();
  if (!text.endsWith("\n")) throw new Error("expected a line end at the end");
  let helped = "";
  let current = "";
  for (const line of text.split("\n")) {
    if (line === "") continue;
    const [, keyword, name = "", rest = ""] = /^# (HELP|TYPE) (\S+) (.+)$/.exec(line) ?? [];
    if (keyword === "HELP") {
      helped = name;
    } else if (keyword === "TYPE") {
      if (helped !== name || types.has(name)) throw new Error(`expected HELP before ${line}`);
      types.set(name, rest);
      current = name;
    } else {
      const [key, value] = readSample(line, current, types.get(current) ?? "");
      if (samples.has(key)) throw new Error(`expected ${key} once`);
      samples.set(key, value);
    }
  }
  return { samples, types };
}

function readSample(line: string, metric: string, type: string): [string, number] {
  const [, name = "", labels, value = ""] = SAMPLE.exec(line) ?? [];
  const endings = type === "histogram" ? ["_bucket", "_sum", "_count"] : [""];
  if (!endings.some((ending) => name === metric + ending)) {
    throw new Error(`expected a sample of ${metric}, found ${line}`);
  }
  if (labels !== undefined && !LABELS.test(labels)) throw new Error(`expected labels: ${line}`);
  if (!Number.isFinite(Number(value))) throw new Error(`expected a number: ${line}`);
  const found = labels?.match(new RegExp(LABEL, "g")) ?? [];
  return [found.length === 0 ? name : `${name}{${found.toSorted().join(",")}}`, Number(value)];
}
