/**
 * Collections in a statement: what a name with its namespace stands for, and whether it may be used so.
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

/** `write`: everything that changes documents or indexes, but DELETE. */
export type CollectionPurpose = "read" | "write" | "delete";

/** What a collection in a statement stands for; throws when it may not be used so. */
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

/** A name that no collection can have: the storage has no key for it. */
function checkStoredName({ name, at }: CollectionRef, purpose: CollectionPurpose): void {
  if (name !== "" && name.length <= NAME_SIZE_MAX && name.isWellFormed()) return;
  const message =
    name === ""
      ? "the name of a collection is empty"
      : `the name of a collection is text of at most ${NAME_SIZE_MAX} characters`;
  throw new Fault(purpose === "read" ? "query.store" : "query.evaluation", message, at);
}

/** The name of a collection that is kept in the store; nothing else can be written to. */
export function storedName(ref: CollectionRef): string {
  const resolved = resolveCollection(ref, "write");
  assert(resolved.kind === "stored", "only what is stored can be written to");
  return resolved.name;
}
