/**
 * A change of the change feed as one line for people: when, what, which document, and its fields.
 */

import type { Change, ChangeWriter } from "@bigpeer/client";
import { stringifyJson, type Value } from "@bigpeer/protocol";
import type { Colour, Style } from "./style.ts";
import { fit, visible, widthOf } from "./width.ts";

const COLOURS: Readonly<Record<string, Colour>> = {
  insert: "green",
  update: "yellow",
  delete: "red",
  leave: "magenta",
  row: "blue",
};

/** At least so much of the fields is shown, if the terminal has to wrap the line. */
const FIELDS_WIDTH_MIN = 20;

const GAP = "  ";

/** `columns` is the width of the terminal; undefined for no bound. */
export function changeLine(change: Change, style: Style, columns: number | undefined): string {
  const kind = change.initial === true ? "row" : change.type;
  const time = `${change.at.slice(0, 19)}Z`;
  const word = kind.padEnd("insert".length);
  const place = visible(`${change.collection} ${plain(change.id)}`);
  const writer = change.by === null ? "" : visible(`by ${nameOf(change.by)}`);
  const head = [time, word, place, ...(writer === "" ? [] : [writer])];
  const used = widthOf(head.join(GAP)) + GAP.length;
  const room = columns === undefined ? Infinity : Math.max(FIELDS_WIDTH_MIN, columns - used);
  const parts = [
    style("dim", time),
    style(COLOURS[kind] ?? "bold", word),
    style("bold", place),
    ...(writer === "" ? [] : [style("dim", writer)]),
    fit(visible(fieldsOf(change)), room),
  ];
  return parts.join(GAP).trimEnd();
}

function nameOf({ credential, user, peer }: ChangeWriter): string {
  return user ?? credential ?? peer?.slice(0, 12) ?? "unknown";
}

/** Text as it is, and other values as JSON. */
function plain(value: unknown): string {
  return typeof value === "string" ? value : json(value);
}

function json(value: unknown): string {
  return value === undefined ? "absent" : stringifyJson(value as Value);
}

/** The document, or of an update what changed: `status: "open" → "late"`. */
function fieldsOf({ type, document, before }: Change): string {
  if (type === "delete" || type === "leave") return "";
  if (type === "insert" || before === undefined) return json(document);
  const now = document ?? {};
  const names = [...new Set([...Object.keys(before), ...Object.keys(now)])];
  return names
    .map((name) => [name, json(before[name]), json(now[name])] as const)
    .filter(([, from, to]) => from !== to)
    .map(([name, from, to]) => `${name}: ${from} → ${to}`)
    .join(", ");
}
