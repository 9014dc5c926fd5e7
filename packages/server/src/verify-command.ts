/**
 * Verify: reads everything in a data folder and tells what does not fit.
 *
 * It reads one state of each store, also beside a running server, and changes nothing. Each problem
 * is one line; a store that cannot be opened is a problem like others.
 */

import { verify } from "@bigpeer/engine";
import { appIdsInFolder, appStoreFolder, checkDataFolder, registryFolder } from "./data-folder.ts";
import { describeError } from "./log.ts";
import { type App, readApps } from "./registry.ts";
import { readStore } from "./store-folder.ts";

/** Hands each line, without its end, to `print`. Returns the number of problems. */
export async function verifyDataFolder(
  dataDir: string,
  print: (line: string) => void,
): Promise<number> {
  checkDataFolder(dataDir);
  let problems = await verifyStore("registry", registryFolder(dataDir), print);
  const apps = await findApps(dataDir);
  for (const app of apps) {
    problems += await verifyStore(
      `app ${app.id} (${app.name})`,
      appStoreFolder(dataDir, app.id),
      print,
    );
  }
  for (const id of appIdsInFolder(dataDir)) {
    if (apps.some((app) => app.id === id)) continue;
    print(`note: the folder apps/${id} belongs to no app and is not used`);
  }
  print(problems === 0 ? "no problems found" : `problems found: ${problems}`);
  return problems;
}

async function verifyStore(
  label: string,
  folder: string,
  print: (line: string) => void,
): Promise<number> {
  try {
    const report = await readStore(folder, (view) => verify(view.reader));
    const { keys, documents, transactions, problems } = report;
    print(`${label}: keys ${keys}, documents ${documents}, transactions ${transactions}`);
    for (const { key, message } of problems) print(`${label}: problem at ${key}: ${message}`);
    return problems.length;
  } catch (error) {
    print(`${label}: problem: ${describeError(error)}`);
    return 1;
  }
}

/** The apps that the registry knows; where it cannot be read, those that have a folder. */
async function findApps(dataDir: string): Promise<App[]> {
  try {
    return await readStore(registryFolder(dataDir), readApps);
  } catch {
    return appIdsInFolder(dataDir).map((id) => ({ id, name: "name not known" }));
  }
}
