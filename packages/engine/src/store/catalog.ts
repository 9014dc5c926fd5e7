/**
 * Catalog: named records of a store beside its documents, by section and name; and which operations
 * create a collection.
 */

import { type CatalogOperation, type DocumentOperation, equalValues } from "@bigpeer/protocol";
import { catalogKey } from "./keys.ts";
import type { Overlay } from "./overlay.ts";

/** Puts or removes an entry. False when nothing changes. */
export function putCatalog(overlay: Overlay, { section, name, value }: CatalogOperation): boolean {
  const key = catalogKey(section, name);
  const before = overlay.get(key);
  if (value === null) {
    if (before === undefined) return false;
    overlay.remove(key);
    return true;
  }
  if (before !== undefined && equalValues(before, value)) return false;
  overlay.put(key, value);
  return true;
}

/** Whether the operation creates its collection. */
export function isCreating(operation: DocumentOperation): boolean {
  const { kind } = operation;
  if (kind === "layer") return operation.view !== undefined && operation.view !== null;
  return kind === "insert" || kind === "initial" || kind === "merge";
}
