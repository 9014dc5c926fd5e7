/**
 * Replication secrets: the shared secrets that other Big Peers must know to link with an app (M35).
 *
 * An app with a secret of its own has a document in the collection `replication_secrets`, with the
 * id of the app. The secret is never shown.
 */

import type { View } from "@bigpeer/engine/store";
import type { Operation } from "@bigpeer/protocol";
import { checkApp, nameOfApp, targetOfApp } from "./apps.ts";
import type { Author } from "./audit-log.ts";
import { RegistryFault } from "./registry-fault.ts";
import { REPLICATION_SECRETS } from "./registry-index.ts";
import { noChange, type RegistryStore } from "./registry-store.ts";

/** As long as an admin token, of characters that are safe in an environment variable. */
const SECRET = /^[!-~]{16,1024}$/;

export class ReplicationSecrets {
  readonly #store: RegistryStore;

  constructor(store: RegistryStore) {
    this.#store = store;
  }

  /** Number of apps with a secret of their own. */
  get count(): number {
    return this.#store.read((view) => view.count(REPLICATION_SECRETS));
  }

  /** Undefined when the app has none of its own. */
  get(appId: string): string | undefined {
    return this.#store.read((view) => secretOf(view, appId));
  }

  /** Throws InvalidRequest, without the secret, when it is too short or has other characters. */
  set(appId: string, secret: string, author: Author): Promise<void> {
    if (!SECRET.test(secret)) {
      const expected = "16 to 1024 ASCII characters without spaces";
      throw new RegistryFault("InvalidRequest", `expected ${expected} at secret`);
    }
    return this.#store.change(author, (view) => {
      checkApp(view, appId);
      if (secretOf(view, appId) === secret) return noChange(undefined);
      const fields = { secret };
      return {
        operations: [
          { kind: "insert", collection: REPLICATION_SECRETS, id: appId, fields, clean: true },
        ],
        actions: [{ action: "replicationSecret.set", target: targetOf(view, appId) }],
        result: undefined,
      };
    });
  }

  remove(appId: string, author: Author): Promise<void> {
    return this.#store.change(author, (view) => {
      checkApp(view, appId);
      const operations = removalOf(view, appId);
      if (operations.length === 0) return noChange(undefined);
      const audited = { action: "replicationSecret.delete", target: targetOf(view, appId) };
      return { operations, actions: [audited], result: undefined };
    });
  }
}

function targetOf(view: View, appId: string): string {
  return `${targetOfApp(nameOfApp(view, appId) ?? appId)}/replicationSecret`;
}

function secretOf(view: View, appId: string): string | undefined {
  const { secret } = view.get(REPLICATION_SECRETS, appId)?.fields ?? {};
  return typeof secret === "string" ? secret : undefined;
}

function removalOf(view: View, appId: string): Operation[] {
  const isThere = view.get(REPLICATION_SECRETS, appId) !== undefined;
  return isThere ? [{ kind: "delete", collection: REPLICATION_SECRETS, id: appId }] : [];
}
