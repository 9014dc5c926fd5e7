/**
 * Verify: reads everything in a data folder and tells what does not fit.
 *
 * It reads one state of each store and every attachment, also beside a running server, and changes
 * nothing. Each problem is one line; a store that cannot be opened is a problem like others. The reading
 * is done in another process, because a damaged file may end whoever reads it.
 */

import { type ChildProcess, fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import { appIdsInFolder, checkDataFolder } from "./data-folder.ts";
import type { AppName, DeletedApp } from "./registry/app.ts";
import type { FromChild, ToChild } from "./verify-child.ts";

type Print = (line: string) => void;

/** Also where the sources are run as they are: Node 20 reads no TypeScript. */
const CHILD_FILE = fileURLToPath(new URL("../dist/verify-child.js", import.meta.url));

/** Hands each line, without its end, to `print`. Returns the number of problems. */
export async function verifyDataFolder(dataDir: string, print: Print): Promise<number> {
  checkDataFolder(dataDir);
  const reader = new Reader();
  try {
    return await verifyParts(dataDir, print, reader);
  } finally {
    reader.close();
  }
}

async function verifyParts(dataDir: string, print: Print, reader: Reader): Promise<number> {
  const part = async (label: string, request: ToChild): Promise<number> => {
    let problems = 0;
    await reader.ask(request, (message) => {
      if (message.kind === "finding") {
        print(`${label}: ${message.finding.text}`);
        if (message.finding.isProblem) problems++;
      } else if (message.kind === "failed") {
        print(`${label}: problem: ${message.reason}`);
        problems++;
      }
    });
    return problems;
  };
  let problems = await part("registry", { kind: "registry", dataDir });
  const { apps, deleted } = await findApps(dataDir, reader);
  for (const { id, name } of apps) {
    problems += await part(`app ${id} (${name})`, { kind: "app", id, dataDir });
  }
  for (const id of appIdsInFolder(dataDir)) {
    if (apps.some((app) => app.id === id)) continue;
    const gone = deleted.find((app) => app.id === id);
    const what = gone === undefined ? "belongs to no app" : `is of the deleted app ${gone.name}`;
    print(`note: the folder apps/${id} ${what} and is not used`);
  }
  print(problems === 0 ? "no problems found" : `problems found: ${problems}`);
  return problems;
}

interface FoundApps {
  readonly apps: readonly AppName[];
  readonly deleted: readonly DeletedApp[];
}

/** The apps that the registry knows; where it cannot be read, those that have a folder. */
async function findApps(dataDir: string, reader: Reader): Promise<FoundApps> {
  let found: FoundApps | undefined;
  await reader.ask({ kind: "apps", dataDir }, (message) => {
    if (message.kind === "apps") found = message;
  });
  if (found !== undefined) return found;
  const apps = appIdsInFolder(dataDir).map((id) => ({ id, name: "name not known" }));
  return { apps, deleted: [] };
}

/** The process that reads; when it ends too soon, the next question gets another one. */
class Reader {
  #child: ChildProcess | undefined;
  #isStarted = false;

  /** Hands on what is said until all of it is; a process that ended is something that failed. */
  async ask(request: ToChild, hear: (message: FromChild) => void): Promise<void> {
    this.#child ??= fork(CHILD_FILE, {
      execArgv: [],
      stdio: ["ignore", "ignore", "ignore", "ipc"],
    });
    const child = this.#child;
    let reached = "its beginning";
    await new Promise<void>((resolve) => {
      const end = (): void => {
        child.off("message", onMessage);
        child.off("close", onClose);
        resolve();
      };
      const onMessage = (message: FromChild): void => {
        if (message.kind === "started") this.#isStarted = true;
        if (message.kind === "reached") reached = message.place;
        hear(message);
        if (message.kind === "done") end();
      };
      const onClose = (code: number | null, signal: string | null): void => {
        const how = signal ?? `code ${code}`;
        const reason = this.#isStarted ? endedReason(how, reached) : notStartedReason(how);
        this.#child = undefined;
        this.#isStarted = false;
        hear({ kind: "failed", reason });
        end();
      };
      child.on("message", onMessage);
      child.on("close", onClose);
      child.send(request);
    });
  }

  close(): void {
    this.#child?.disconnect();
  }
}

function endedReason(how: string, reached: string): string {
  return (
    `failed to read the data file: the process that read it ended with ${how} behind ${reached}; ` +
    "the file is damaged: stop the server, keep the folder, restore a backup"
  );
}

/** Nothing was read yet: the file is not to blame. */
function notStartedReason(how: string): string {
  return `failed to start the process that reads: it ended with ${how}; look at ${CHILD_FILE}`;
}
