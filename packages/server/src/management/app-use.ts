/**
 * App use: opens the app in the path of a request for as long as its handler works.
 */

import type { OpenApp } from "../apps/open-app.ts";
import type { ManagementCall } from "./management-endpoint.ts";

export async function withApp<T>(
  call: ManagementCall,
  work: (app: OpenApp) => T | Promise<T>,
): Promise<T> {
  const id = call.appId();
  const { apps } = call.facts;
  const use = apps.tryUse(id) ?? (await apps.use(id));
  try {
    return await work(use.app);
  } finally {
    use.release();
  }
}
