/**
 * Stored settings: persists the changes of ALTER SYSTEM in the catalog of the store, so that they
 * survive restarts and are in backups. A parameter that was never set, or was reset, has no entry.
 */

import { type CatalogOperation, equalValues, type Value } from "@bigpeer/protocol";
import type { Store } from "../../store/store.ts";
import type { View } from "../../store/view.ts";
import type { Settings } from "./settings.ts";

/** Section of the catalog. */
const SECTION = "settings";

type CatalogView = Pick<View, "catalog" | "catalogNames">;

/** Reads the stored settings, by name. */
export function* storedSettings(view: CatalogView): Generator<[name: string, value: Value]> {
  for (const name of view.catalogNames(SECTION)) {
    const value = view.catalog(SECTION, name);
    if (value !== undefined) yield [name, value];
  }
}

/** Loads the current settings from the store: a change takes effect when it is durable. */
export function loadSettings(settings: Settings, store: Pick<Store, "read">): void {
  store.read((snapshot) => settings.load(storedSettings(snapshot)));
}

/** Operations that bring the stored settings to these values. */
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
