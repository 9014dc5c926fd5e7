/**
 * History and favourites of this browser.
 */
import type { Signal } from "../../kit/preact.ts";
import { stored } from "../../kit/stored.ts";
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
  history.value = addToHistory(history.value, entry);
}

export function forget(entry: HistoryEntry): void {
  history.value = history.value.filter((other) => !isSame(other, entry));
}

export function forgetHistory(app: string): void {
  history.value = history.value.filter((entry) => entry.app !== app);
}

export function keepFavourite(favourite: Favourite): void {
  favourites.value = addFavourite(favourites.value, favourite);
}

export function removeFavourite({ app, name }: Favourite): void {
  favourites.value = favourites.value.filter((other) => other.app !== app || other.name !== name);
}
