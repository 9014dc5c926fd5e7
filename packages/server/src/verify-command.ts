/**
 * Verify: reads everything in a data folder and tells what does not fit.
 *
 * It reads one state of each store and every attachment, also beside a running server, and changes
 * nothing. Each problem is one line; a store that cannot be opened is a problem like others.
 */

import { verify } from "@bigpeer/engine";
import { readStore } from "@bigpeer/node";
import { stringifyJson } from "@bigpeer/protocol";
import { checkContents } from "./attachments/content-check.ts";
import {
  appAttachmentsFolder,
  appIdsInFolder,
  appStoreFolder,
  checkDataFolder,
  registryFolder,
} from "./data-folder.ts";
import { describeError } from "./log.ts";
import {
  type AppName,
  type DeletedApp,
  readAppNames,
  readDeletedApps,
  unreadableApps,
} from "./registry/app.ts";

type Print = (line: string) => void;

/** Hands each line, without its end, to `print`. Returns the number of problems. */
export async function verifyDataFolder(dataDir: string, print: Print): Promise<number> {
  checkDataFolder(dataDir);
  let problems = await verifyPart("registry", print, verifyRegistry(dataDir));
  const apps = await findApps(dataDir);
  for (const { id, name } of apps) {
    problems += await verifyPart(`app ${id} (${name})`, print, verifyApp(dataDir, id));
  }
  const deleted = await findDeletedApps(dataDir);
  for (const id of appIdsInFolder(dataDir)) {
    if (apps.some((app) => app.id === id)) continue;
    const gone = deleted.find((app) => app.id === id);
    const what = gone === undefined ? "belongs to no app" : `is of the deleted app ${gone.name}`;
    print(`note: the folder apps/${id} ${what} and is not used`);
  }
  print(problems === 0 ? "no problems found" : `problems found: ${problems}`);
  return problems;
}

/** A line of the report. */
interface Finding {
  readonly isProblem: boolean;
  readonly text: string;
}

/** What was found before something could not be read is told all the same. */
async function verifyPart(
  label: string,
  print: Print,
  findings: AsyncIterable<Finding>,
): Promise<number> {
  let problems = 0;
  try {
    for await (const { isProblem, text } of findings) {
      print(`${label}: ${text}`);
      if (isProblem) problems++;
    }
    return problems;
  } catch (error) {
    print(`${label}: problem: ${describeError(error)}`);
    return problems + 1;
  }
}

async function* verifyRegistry(dataDir: string): AsyncGenerator<Finding> {
  const folder = registryFolder(dataDir);
  yield* verifyStore(folder);
  const unreadable = await readStore(folder, (view) => [...unreadableApps(view)]);
  yield* unreadable.map(({ id, error }) => {
    return problem(`problem at the app ${stringifyJson(id)}: ${describeError(error)}`);
  });
}

async function* verifyApp(dataDir: string, appId: string): AsyncGenerator<Finding> {
  yield* verifyStore(appStoreFolder(dataDir, appId));
  yield* verifyAttachments(dataDir, appId);
}

async function* verifyStore(folder: string): AsyncGenerator<Finding> {
  const report = await readStore(folder, (view) => verify(view.reader));
  const { keys, documents, transactions, problems } = report;
  yield fact(`keys ${keys}, documents ${documents}, transactions ${transactions}`);
  yield* problems.map(({ key, message }) => problem(`problem at ${key}: ${message}`));
}

async function* verifyAttachments(dataDir: string, appId: string): AsyncGenerator<Finding> {
  const folder = appAttachmentsFolder(dataDir, appId);
  const { count, sizeBytes, problems, strayCount } = await checkContents(
    appStoreFolder(dataDir, appId),
    folder,
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

/** Those whose data is not yet removed. */
async function findDeletedApps(dataDir: string): Promise<readonly DeletedApp[]> {
  try {
    return await readStore(registryFolder(dataDir), readDeletedApps);
  } catch {
    return [];
  }
}

/** The apps that the registry knows; where it cannot be read, those that have a folder. */
async function findApps(dataDir: string): Promise<AppName[]> {
  try {
    return await readStore(registryFolder(dataDir), readAppNames);
  } catch {
    return appIdsInFolder(dataDir).map((id) => ({ id, name: "name not known" }));
  }
}
