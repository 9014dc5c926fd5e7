/**
 * resolveCollection: resolves a collection name with its namespace, and checks its use.
 */

import { assert, NAME_SIZE_MAX } from "@bigpeer/protocol";
import { evaluationFault, Fault, semanticFault } from "../fault.ts";
import type { CollectionRef } from "../syntax/tree.ts";
import {
  type SystemCollection,
  systemCollection,
  systemCollectionNames,
} from "../system/system-collections.ts";
import { nameHint, quoteName } from "../unknown-name.ts";

export type ResolvedCollection =
  | { readonly kind: "stored"; readonly name: string }
  | { readonly kind: "system"; readonly collection: SystemCollection };

/** `write`: everything that changes documents or indexes, except DELETE. */
export type CollectionPurpose = "read" | "write" | "delete";

/** Resolves a collection; throws if it may not be used for the purpose. */
export function resolveCollection(
  ref: CollectionRef,
  purpose: CollectionPurpose,
): ResolvedCollection {
  const { namespace, name, at } = ref;
  if (namespace === undefined || namespace === "default") {
    checkStoredName(ref, purpose);
    return { kind: "stored", name };
  }
  if (namespace !== "system") {
    const message = `unknown namespace ${quoteName(namespace)}: expected default or system`;
    throw evaluationFault(message, at);
  }
  const collection = systemCollection(name);
  if (collection === undefined) {
    const hint = nameHint(name, systemCollectionNames());
    throw semanticFault(`unknown system collection ${quoteName(name)}`, at, hint);
  }
  const isAllowed = purpose === "read" || (purpose === "delete" && collection.remove !== undefined);
  if (!isAllowed) throw semanticFault(`system:${collection.name} is read-only`, at);
  return { kind: "system", collection };
}

/** Refuses a name that no collection can have, since the storage has no key for it. */
function checkStoredName({ name, at }: CollectionRef, purpose: CollectionPurpose): void {
  if (name !== "" && name.length <= NAME_SIZE_MAX && name.isWellFormed()) return;
  const message =
    name === ""
      ? "the name of a collection is empty"
      : `the name of a collection is text of at most ${NAME_SIZE_MAX} characters`;
  throw new Fault(purpose === "read" ? "query.store" : "query.evaluation", message, at);
}

/** The name of a stored collection; nothing else can be written to. */
export function storedName(ref: CollectionRef): string {
  const resolved = resolveCollection(ref, "write");
  assert(resolved.kind === "stored", "only what is stored can be written to");
  return resolved.name;
}
