/**
 * Node procedures: what other nodes ask of this one: to answer at all, and, while it evaluates, to
 * confirm that it does, to apply uploads of a peer, and to write to the registry.
 */

import type { Platform } from "@bigpeer/engine";
import { relayedAnswers } from "@bigpeer/engine/cluster";
import { uploadChecker } from "@bigpeer/engine/query";
import { takeUpload } from "@bigpeer/engine/store";
import type { SessionUpload } from "@bigpeer/engine/sync";
import { isObject, PeerError, type Value, type ValueObject } from "@bigpeer/protocol";
import type { OpenApps } from "../apps/open-apps.ts";
import type { Authentication } from "../auth/authentication.ts";
import type { AuditAction, AuditedKind, Author } from "../registry/audit-log.ts";
import type { Registry } from "../registry/registry.ts";
import { REGISTRY_STORE } from "../stores/stores.ts";
import type { ClusterStores } from "./cluster-stores.ts";
import type { Procedure } from "./node-listener.ts";

export interface ProceduresHost {
  readonly auth: Pick<Authentication, "credentials">;
  readonly platform: Platform;
  readonly stores: Pick<ClusterStores, "find">;
  /** Throws `cluster.elsewhere` until the server is open. */
  readonly source: () => { readonly registry: Registry; readonly apps: OpenApps };
}

/** By their names. */
export function nodeProcedures(host: () => ProceduresHost): { [name: string]: Procedure } {
  return {
    // Shows that the node is reached.
    ping: async () => null,
    confirm: (value) => confirm(host(), value),
    uploads: (value) => uploads(host(), value),
    uses: async (value) => {
      const { uses } = fieldsOf(value);
      await host()
        .source()
        .registry.keys.writeUses(uses as unknown as [string, number][]);
      return {};
    },
    run: async (value) => {
      const { author, action, kind } = fieldsOf(value) as unknown as {
        author: Author;
        action: AuditAction;
        // Absent from nodes of the version before.
        kind?: AuditedKind;
      };
      await host()
        .source()
        .registry.record(author, action, kind ?? "runs");
      return {};
    },
  };
}

/** The end of the log, after this node was the evaluating node. */
async function confirm(host: ProceduresHost, value: Value): Promise<Value> {
  const name = textOf(fieldsOf(value)["store"]);
  return withStore(host, name, async () => {
    const position = await host.stores.find(name)?.confirm();
    if (position === undefined) throw notHere();
    return { sequence: position.sequence };
  });
}

/** Applies uploads in their order. The credential is judged by the registry of this node. */
async function uploads(host: ProceduresHost, value: Value): Promise<Value> {
  const { store, token, peer, uploads: given } = fieldsOf(value);
  const { auth, platform, source } = host;
  const { registry, apps } = source();
  const appId = textOf(store);
  const bearer = await auth.credentials.find(registry, textOf(token), appId);
  if (bearer === undefined || bearer.appId !== appId) {
    throw new PeerError("permission.denied", "the credential is not known, or has expired");
  }
  const { credential } = bearer;
  const check = uploadChecker({ platform, appId, authority: () => credential.authority });
  const use = apps.tryUse(appId) ?? (await apps.use(appId));
  try {
    const asked = given as unknown as readonly SessionUpload["upload"][];
    const by = { ...credential.writer, ...(textOf(peer) !== "" && { peer: textOf(peer) }) };
    const sender = { owner: credential.id, by };
    const applied = asked.map((upload) => takeUpload(use.app.store, upload, check, sender));
    return { answers: (await relayedAnswers(applied)) as unknown as Value };
  } finally {
    use.release();
  }
}

/** Opens the app of a store while `work` runs. */
async function withStore<T>(
  { source }: ProceduresHost,
  name: string,
  work: () => Promise<T>,
): Promise<T> {
  if (name === REGISTRY_STORE) return work();
  const { apps } = source();
  const use = apps.tryUse(name) ?? (await apps.use(name));
  try {
    return await work();
  } finally {
    use.release();
  }
}

/** For a caller that finds another node. */
export function notHere(): PeerError {
  return new PeerError("cluster.elsewhere", "this node is not open");
}

function fieldsOf(value: Value): ValueObject {
  return isObject(value) ? value : {};
}

function textOf(value: Value | undefined): string {
  return typeof value === "string" ? value : "";
}
