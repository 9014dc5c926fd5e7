/**
 * Verify process: child process that reads one part of a data folder at a time, on request. If a
 * damaged file crashes it, verify-command.ts reports that and starts another one for the rest.
 */

import { describeError } from "../observability/log.ts";
import type { AppName, DeletedApp } from "../registry/app.ts";
import {
  type Finding,
  type PartHost,
  registryApps,
  verifyApp,
  verifyRegistry,
} from "./verify-part.ts";

export type ToChild = { readonly dataDir: string } & (
  | { readonly kind: "registry" }
  | { readonly kind: "apps" }
  | { readonly kind: "app"; readonly id: string }
);

export type FromChild =
  /** Sent once, before any request. */
  | { readonly kind: "started" }
  | { readonly kind: "finding"; readonly finding: Finding }
  | { readonly kind: "reached"; readonly place: string }
  | {
      readonly kind: "apps";
      readonly apps: readonly AppName[];
      readonly deleted: readonly DeletedApp[];
    }
  | { readonly kind: "failed"; readonly reason: string }
  | { readonly kind: "done" };

function say(message: FromChild): void {
  process.send?.(message);
}

async function answer(request: ToChild): Promise<void> {
  const { dataDir } = request;
  if (request.kind === "apps") return say({ kind: "apps", ...(await registryApps(dataDir)) });
  const host: PartHost = {
    tick: (place) => say({ kind: "reached", place }),
    find: (finding) => say({ kind: "finding", finding }),
  };
  const findings =
    request.kind === "registry"
      ? verifyRegistry(dataDir, host)
      : verifyApp(dataDir, request.id, host);
  for await (const finding of findings) say({ kind: "finding", finding });
}

process.on("message", (request: ToChild) => {
  answer(request)
    .catch((error: unknown) => say({ kind: "failed", reason: describeError(error) }))
    .finally(() => say({ kind: "done" }));
});

say({ kind: "started" });
