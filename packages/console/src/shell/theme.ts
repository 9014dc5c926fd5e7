/**
 * The theme: that of the system, dark or light. The styles follow `data-theme` of the page.
 */
import type { Signal } from "../kit/preact.ts";
import { stored } from "../kit/stored.ts";

export type Theme = "system" | "dark" | "light";

const THEMES: readonly Theme[] = ["system", "dark", "light"];

export const theme: Signal<Theme> = stored<Theme>("theme", "system", (value) =>
  (THEMES as readonly unknown[]).includes(value),
);

export function applyTheme(): void {
  theme.subscribe((value) => {
    document.documentElement.dataset["theme"] = value;
  });
}

export function nextTheme(): void {
  theme.value = THEMES[(THEMES.indexOf(theme.value) + 1) % THEMES.length] ?? "system";
}
