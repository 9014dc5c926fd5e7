/**
 * Stored settings: what ALTER SYSTEM has changed, in the catalog of the store, so that it lasts through
 * restarts and is part of backups. A parameter that has its default is not there.
 */

import { type CatalogOperation, equalValues, type Value } from "@bigpeer/protocol";
import type { Store } from "../../store/store.ts";
import type { View } from "../../store/view.ts";
import type { Settings } from "./settings.ts";

/** The section of the catalog. */
const SECTION = "settings";

type CatalogView = Pick<View, "catalog" | "catalogNames">;

/** What the store holds, by name. */
export function* storedSettings(view: CatalogView): Generator<[name: string, value: Value]> {
  for (const name of view.catalogNames(SECTION)) {
    const value = view.catalog(SECTION, name);
    if (value !== undefined) yield [name, value];
  }
}

/** From now on what the store has: a change holds when it is durable. */
export function loadSettings(settings: Settings, store: Pick<Store, "read">): void {
  store.read((snapshot) => settings.load(storedSettings(snapshot)));
}

/** What makes the store hold these. */
export function settingOperations(view: CatalogView, settings: Settings): CatalogOperation[] {
  const before = new Map(storedSettings(view));
  const wanted = settings.changed();
  const gone = [...before.keys()].filter((name) => !wanted.has(name));
  const changed = [...wanted].filter(([name, value]) => {
    const known = before.get(name);
    return known === undefined || !equalValues(known, value);
  });
  return [...gone.map((name) => entryOf(name, null)), ...changed.map((each) => entryOf(...each))];
}

function entryOf(name: string, value: Value): CatalogOperation {
  return { kind: "catalog", section: SECTION, name, value };
}
