/**
 * Verify parts: verify one part of a data folder: the registry, or an app with its attachments.
 * This runs in a child process (verify-child.ts), because a damaged file may crash it.
 */

import { readStore, verifyStore } from "@bigpeer/node";
import { stringifyJson } from "@bigpeer/protocol";
import { checkContents } from "../attachments/content-check.ts";
import { appAttachmentsFolder, appStoreFolder, registryFolder } from "../config/data-folder.ts";
import { describeError } from "../observability/log.ts";
import {
  type AppName,
  type DeletedApp,
  readAppNames,
  readDeletedApps,
  unreadableApps,
} from "../registry/app.ts";

/** Line of the report. */
export interface Finding {
  readonly isProblem: boolean;
  readonly text: string;
}

/** Callbacks while a part is read. */
export interface PartHost {
  /** Called periodically with the current place. */
  tick(place: string): void;
  /** Called with a finding that must be reported before more is read. */
  find(finding: Finding): void;
}

export async function* verifyRegistry(dataDir: string, host: PartHost): AsyncGenerator<Finding> {
  const folder = registryFolder(dataDir);
  yield* verifyOneStore(folder, host);
  const unreadable = await readStore(folder, (view) => [...unreadableApps(view)]);
  yield* unreadable.map(({ id, error }) => {
    return problem(`problem at the app ${stringifyJson(id)}: ${describeError(error)}`);
  });
}

export async function* verifyApp(
  dataDir: string,
  appId: string,
  host: PartHost,
): AsyncGenerator<Finding> {
  yield* verifyOneStore(appStoreFolder(dataDir, appId), host);
  yield* verifyAttachments(dataDir, appId, host);
}

/** Apps in the registry, and deleted apps whose data still exists. */
export async function registryApps(dataDir: string): Promise<{
  readonly apps: readonly AppName[];
  readonly deleted: readonly DeletedApp[];
}> {
  return readStore(registryFolder(dataDir), (view) => {
    return { apps: readAppNames(view), deleted: readDeletedApps(view) };
  });
}

async function* verifyOneStore(folder: string, host: PartHost): AsyncGenerator<Finding> {
  let unprotected = 0;
  const report = await verifyStore(folder, {
    tick: (place) => host.tick(place),
    pagesChecked: (pages) => {
      unprotected = pages.unprotected;
      for (const message of pages.problems) host.find(problem(`problem at ${message}`));
    },
  });
  const { keys, documents, transactions, problems } = report;
  yield fact(`keys ${keys}, documents ${documents}, transactions ${transactions}`);
  yield* problems.map(({ key, message }) => problem(`problem at ${key}: ${message}`));
  if (unprotected > 0) {
    yield fact(`note: records without a checksum: ${unprotected}; maintenance gives them one`);
  }
}

async function* verifyAttachments(
  dataDir: string,
  appId: string,
  host: PartHost,
): AsyncGenerator<Finding> {
  const folder = appAttachmentsFolder(dataDir, appId);
  const { count, sizeBytes, problems, strayCount } = await checkContents(
    appStoreFolder(dataDir, appId),
    folder,
    (id) => host.tick(`attachment ${id}`),
  );
  if (count > 0) yield fact(`attachments ${count}, bytes ${sizeBytes}`);
  yield* problems.map(({ id, message }) => problem(`problem at attachment ${id}: ${message}`));
  if (strayCount > 0) yield fact(`note: files without a record in ${folder}: ${strayCount}`);
}

function fact(text: string): Finding {
  return { isProblem: false, text };
}

function problem(text: string): Finding {
  return { isProblem: true, text };
}
