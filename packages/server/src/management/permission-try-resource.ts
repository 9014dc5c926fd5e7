/**
 * Permission try: `…/permission/try` counts the documents that permissions would make visible, before
 * they are given to a key or a provider (M61). It counts as a statement with these permissions does.
 */

import { PeerError, type Value } from "@bigpeer/protocol";
import type { OpenApp } from "../apps/open-app.ts";
import type { Credential } from "../auth/credential.ts";
import { withApp } from "./app-use.ts";
import type { ManagementCall, Resource } from "./management-endpoint.ts";
import { checkPermissionTrial } from "./schemas.ts";
import { seenCredential } from "./see-as.ts";

export const PERMISSION_TRY_RESOURCES: readonly Resource[] = [
  {
    name: "try_permissions",
    path: "/app/{app}/permission/try",
    access: "signedIn",
    methods: { POST: tryPermissions },
  },
];

/** Collections that are counted for one answer. */
const COLLECTIONS_MAX = 100;

const ALL = "true";

async function tryPermissions(call: ManagementCall): Promise<Value> {
  const { collections: given, ...seen } = await call.body(checkPermissionTrial);
  const app = call.registry.apps.named(call.parameter("app"));
  const credential = seenCredential(call.registry, app, seen);
  return withApp(call, async (opened) => {
    const names = given ?? opened.store.read((view) => view.collections(COLLECTIONS_MAX));
    if (names.length > COLLECTIONS_MAX) {
      const message = `expected at most ${COLLECTIONS_MAX} collections, found ${names.length}`;
      throw new PeerError("value.invalid", message, { at: "collections" });
    }
    const collections = [];
    for (const name of names) collections.push(await countIn(opened, name, credential));
    return { collections };
  });
}

async function countIn(
  app: OpenApp,
  collection: string,
  { authority }: Credential,
): Promise<Value> {
  const total = app.store.read((view) => view.count(collection));
  // Without a rule, nothing of the collection exists for the caller.
  if (authority?.hasReadRule(collection) === false && !authority.isReadingAll) {
    return { collection, visible: 0, total };
  }
  try {
    const { count } = await app.statements.count({ collection, query: ALL, authority });
    return { collection, visible: count, total };
  } catch (error) {
    if (!(error instanceof PeerError)) throw error;
    return { collection, visible: null, total, error: `${error.message} (${error.code})` };
  }
}
