/**
 * History and favourites of this browser.
 */
import type { Signal } from "../../kit/preact.ts";
import { stored, update } from "../../kit/stored.ts";
import {
  addFavourite,
  addToHistory,
  type Favourite,
  type HistoryEntry,
  isFavourites,
  isHistory,
  isSame,
} from "../../values/statement-history.ts";

export const history: Signal<readonly HistoryEntry[]> = stored<readonly HistoryEntry[]>(
  "history",
  [],
  isHistory,
);

export const favourites: Signal<readonly Favourite[]> = stored<readonly Favourite[]>(
  "favourites",
  [],
  isFavourites,
);

export function keepInHistory(entry: HistoryEntry): void {
  update(history, (all) => addToHistory(all, entry));
}

export function forget(entry: HistoryEntry): void {
  update(history, (all) => all.filter((other) => !isSame(other, entry)));
}

export function forgetHistory(app: string): void {
  update(history, (all) => all.filter((entry) => entry.app !== app));
}

export function keepFavourite(favourite: Favourite): void {
  update(favourites, (all) => addFavourite(all, favourite));
}

export function removeFavourite({ app, name }: Favourite): void {
  update(favourites, (all) => all.filter((other) => other.app !== app || other.name !== name));
}
