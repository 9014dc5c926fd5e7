/**
 * The place in a statement that a message of the server names.
 */

/** The index of the place that a message of the server names, such as `at line 1, column 7`. */
export function placeIn(message: string, text: string): number | undefined {
  const [, line, column] = / at line (\d+), column (\d+)/.exec(message) ?? [];
  if (line === undefined || column === undefined) return undefined;
  const lines = text.split("\n");
  const before = lines.slice(0, Number(line) - 1).reduce((sum, each) => sum + each.length + 1, 0);
  // Columns count characters, which may have two units.
  const start = Array.from(lines[Number(line) - 1] ?? "")
    .slice(0, Number(column) - 1)
    .join("");
  return Math.min(before + start.length, text.length);
}
