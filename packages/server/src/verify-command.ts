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

/** A process that reads says every few megabytes where it is. One that is silent for so long hangs. */
const SILENT_MS_MAX = 120_000;

export interface ReaderOptions {
  /** The script of the process that reads. */
  readonly file: string;
  readonly silentMsMax: number;
}

const READER: ReaderOptions = { file: CHILD_FILE, silentMsMax: SILENT_MS_MAX };

/** Hands each line, without its end, to `print`. Returns the number of problems. */
export async function verifyDataFolder(
  dataDir: string,
  print: Print,
  options: ReaderOptions = READER,
): Promise<number> {
  checkDataFolder(dataDir);
  const reader = new Reader(options);
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
  readonly #options: ReaderOptions;
  #child: ChildProcess | undefined;
  #isStarted = false;

  constructor(options: ReaderOptions) {
    this.#options = options;
  }

  /** Hands on what is said until all of it is; a process that ended is something that failed. */
  async ask(request: ToChild, hear: (message: FromChild) => void): Promise<void> {
    const { file, silentMsMax } = this.#options;
    this.#child ??= fork(file, {
      execArgv: [],
      stdio: ["ignore", "ignore", "ignore", "ipc"],
    });
    const child = this.#child;
    let reached = "its beginning";
    let isHanging = false;
    await new Promise<void>((resolve) => {
      let silence: NodeJS.Timeout | undefined;
      const expectMessage = (): void => {
        clearTimeout(silence);
        silence = setTimeout(() => {
          isHanging = true;
          child.kill("SIGKILL");
        }, silentMsMax);
      };
      const end = (): void => {
        clearTimeout(silence);
        child.off("message", onMessage);
        child.off("close", onClose);
        resolve();
      };
      const onMessage = (message: FromChild): void => {
        expectMessage();
        if (message.kind === "started") this.#isStarted = true;
        if (message.kind === "reached") reached = message.place;
        hear(message);
        if (message.kind === "done") end();
      };
      const onClose = (code: number | null, signal: string | null): void => {
        const ended = `ended with ${signal ?? `code ${code}`}`;
        const how = isHanging ? `hung for ${silentMsMax} ms` : ended;
        const reason = this.#isStarted ? endedReason(how, reached) : notStartedReason(how, file);
        this.#child = undefined;
        this.#isStarted = false;
        hear({ kind: "failed", reason });
        end();
      };
      child.on("message", onMessage);
      child.on("close", onClose);
      if (this.#isStarted) expectMessage();
      child.send(request);
    });
  }

  close(): void {
    this.#child?.disconnect();
  }
}

function endedReason(how: string, reached: string): string {
  return (
    `failed to read the data file: the process that read it ${how} behind ${reached}; ` +
    "the file is damaged: stop the server, keep the folder, restore a backup"
  );
}

/** Nothing was read yet: the file is not to blame. */
function notStartedReason(how: string, file: string): string {
  return `failed to start the process that reads: it ${how}; look at ${file}`;
}
