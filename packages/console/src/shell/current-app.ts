/**
 * The app that the pages are about: that of the address, otherwise the one that was shown last, and
 * otherwise the first one.
 */
import { apps } from "../api/apps.ts";
import type { Signal } from "../kit/preact.ts";
import { stored } from "../kit/stored.ts";
import { queryOfOtherApp } from "../route/route-state.ts";
import { appInRoute, navigate, route, setQuery } from "../route/router.ts";

const lastApp: Signal<string> = stored("app", "", (value) => typeof value === "string");

/** Undefined while the apps are loaded, and if there is none. It may name an app that is not there. */
export function currentApp(): string | undefined {
  const named = appInRoute();
  if (named !== undefined) return named;
  const all = apps.value ?? [];
  return (all.find(({ name }) => name === lastApp.value) ?? all[0])?.name;
}

/** Puts the current app into the address, so that a copied address means the same elsewhere. */
export function keepAppInRoute(): void {
  const app = currentApp();
  if (app === undefined) return;
  lastApp.value = app;
  if (appInRoute() === undefined) setQuery({ app }, { replace: true });
}

/** Shows the same page for another app. */
export function chooseApp(app: string): void {
  lastApp.value = app;
  const { page, query } = route.value;
  navigate({ page, query: queryOfOtherApp(query, app) });
}
