/**
 * The apps of the server, shared by the chooser and the pages.
 */
import { type Signal, signal } from "../kit/preact.ts";
import { request } from "./request.ts";
import { managed } from "./session.ts";

export interface App {
  readonly name: string;
  readonly appId: string;
}

/** Undefined before they are loaded. */
export const apps: Signal<readonly App[] | undefined> = signal(undefined);

export async function loadApps(): Promise<void> {
  apps.value = (await request<{ readonly data: readonly App[] }>(managed("/app"))).data;
}
