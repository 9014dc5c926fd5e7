/**
 * Asks before a statement that changes every document of a collection, with their number.
 */
import type { WholeCollectionWrite } from "@bigpeer/engine/language";
import { rowsOf } from "../../api/execute.ts";
import { confirmed } from "../../ui/dialog.tsx";
import { quoteName } from "../../values/names.ts";
import { plural } from "../../values/show-value.ts";

const DOES: Readonly<Record<WholeCollectionWrite["verb"], string>> = {
  DELETE: "deletes",
  EVICT: "evicts",
  TOMBSTONE: "removes",
  UPDATE: "changes",
};

export async function confirmWholeCollection(
  app: string,
  write: WholeCollectionWrite,
): Promise<boolean> {
  const { verb, collection, limit = Number.POSITIVE_INFINITY } = write;
  const count = await countOf(app, collection);
  const affected = count === undefined ? undefined : Math.min(count, limit);
  if (affected === 0) return true;
  const documents =
    affected === undefined
      ? "all documents"
      : affected === count && affected > 1
        ? `all ${plural(affected, "document")}`
        : plural(affected, "document");
  return confirmed({
    title: `${verb} without WHERE`,
    text: `This ${DOES[verb]} ${documents} of ${collection}.`,
    action: affected === undefined ? verb : `${verb} ${plural(affected, "document")}`,
    isDestructive: verb !== "UPDATE",
  });
}

/** Undefined if they cannot be counted. */
async function countOf(app: string, collection: string): Promise<number | undefined> {
  const [namespace, name] = collection.includes(":") ? collection.split(":", 2) : ["", collection];
  const from = `${namespace === "" ? "" : `${namespace}:`}${quoteName(name ?? "")}`;
  try {
    const [row] = await rowsOf<{ readonly count: number }>(
      app,
      `SELECT count(*) AS count FROM ${from}`,
    );
    return row?.count;
  } catch {
    return undefined;
  }
}
