/**
 * The app of a server, for tests that look behind its API.
 */

import type { OpenApp } from "../../src/apps/open-app.ts";
import type { RunningServer } from "../../src/server.ts";

/** The first app of a server, which stays open from now on until the server is closed. */
export async function openFirstApp({ registry, apps }: RunningServer): Promise<OpenApp> {
  const [first] = registry.apps.list();
  if (first === undefined) throw new Error("expected an app");
  const { app } = await apps.use(first.id);
  return app;
}
