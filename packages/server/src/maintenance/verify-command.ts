/**
 * Verify command: reads everything in a data folder and reports inconsistencies.
 *
 * It reads one snapshot of each store and every attachment, also while a server runs, and changes
 * nothing. Each problem is one line; a store that cannot be opened is a problem, too. A child
 * process does the reading, because a damaged file may crash it.
 */

import { type ChildProcess, fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import { appIdsInFolder, checkDataFolder } from "../config/data-folder.ts";
import type { AppName, DeletedApp } from "../registry/app.ts";
import type { FromChild, ToChild } from "./verify-child.ts";

type Print = (line: string) => void;

/** The built file even when running from source: Node 20 does not run TypeScript. */
const CHILD_FILE = fileURLToPath(
  new URL("../../dist/maintenance/verify-child.js", import.meta.url),
);

/** The child process reports progress every few megabytes. One that is silent for so long hangs. */
const SILENT_MS_MAX = 120_000;

export interface ReaderOptions {
  /** Script of the child process. */
  readonly file: string;
  readonly silentMsMax: number;
}

const READER: ReaderOptions = { file: CHILD_FILE, silentMsMax: SILENT_MS_MAX };

/** Calls `print` with each line, without its line break. Returns the number of problems. */
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

/** Apps in the registry; if it cannot be read, those that have a folder. */
async function findApps(dataDir: string, reader: Reader): Promise<FoundApps> {
  let found: FoundApps | undefined;
  await reader.ask({ kind: "apps", dataDir }, (message) => {
    if (message.kind === "apps") found = message;
  });
  if (found !== undefined) return found;
  const apps = appIdsInFolder(dataDir).map((id) => ({ id, name: "name not known" }));
  return { apps, deleted: [] };
}

/** Child process that reads; if it crashes, the next request starts another one. */
class Reader {
  readonly #options: ReaderOptions;
  #child: ChildProcess | undefined;
  #isStarted = false;

  constructor(options: ReaderOptions) {
    this.#options = options;
  }

  /** Sends a request and passes on the messages until `done`; a crash is reported as `failed`. */
  async ask(request: ToChild, hear: (message: FromChild) => void): Promise<void> {
    const { file, silentMsMax } = this.#options;
    const child = this.#running();
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
        child.off("error", onError);
        resolve();
      };
      const fail = (reason: string): void => {
        this.#child = undefined;
        this.#isStarted = false;
        hear({ kind: "failed", reason });
        end();
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
        fail(this.#isStarted ? endedReason(how, reached) : notStartedReason(how, file));
      };
      const onError = ({ message }: Error): void => {
        child.kill("SIGKILL");
        fail(`failed to ${this.#isStarted ? "ask" : "start"} the process that reads: ${message}`);
      };
      child.on("message", onMessage);
      child.on("close", onClose);
      child.on("error", onError);
      if (this.#isStarted) expectMessage();
      // One that cannot be started may have no channel; its error follows.
      if (child.connected) child.send(request);
    });
  }

  /** Another one if the last has ended. */
  #running(): ChildProcess {
    if (this.#child?.connected === true) return this.#child;
    const child = fork(this.#options.file, {
      execArgv: [],
      stdio: ["ignore", "ignore", "ignore", "ipc"],
    });
    // There may be several errors, also between two requests; the first of a request is reported.
    child.on("error", () => {});
    this.#child = child;
    this.#isStarted = false;
    return child;
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

/** Nothing was read yet, so the data file is not the cause. */
function notStartedReason(how: string, file: string): string {
  return `failed to start the process that reads: it ${how}; look at ${file}`;
}
