/**
 * Runs one of our TypeScript files as a process of its own: bundled first, since Node 20 does not
 * read TypeScript, into a folder from which the native packages are found.
 */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { isAbsolute, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build, type InlineConfig, type Plugin } from "vite";
import { builtFile, builtPackages, isBuilt } from "../../../../test/support/built-packages.ts";

const root = fileURLToPath(new URL("../../../..", import.meta.url));
const conditions = ["source", "node", "module", "import", "default"];

/** Modules find the files beside them, as threads and child processes, where they are without a bundle. */
const OWN_ADDRESSES: Plugin = {
  name: "own-addresses",
  transform: (code, id) => {
    const address = JSON.stringify(pathToFileURL(id).href);
    return code.includes("import.meta.url") ? code.replaceAll("import.meta.url", address) : null;
  },
};

const OWN_PACKAGES = /^@bigpeer\//;

/** The bundle has the sources of the packages. */
const WITH_SOURCES: InlineConfig = {
  plugins: [OWN_ADDRESSES],
  resolve: { conditions },
  ssr: { resolve: { conditions }, noExternal: [OWN_PACKAGES], external: ["lmdb"] },
};

/** The bundle has the built packages: one file starts sooner than hundreds. */
const WITH_PACKAGES: InlineConfig = {
  plugins: [OWN_ADDRESSES],
  ssr: { noExternal: [OWN_PACKAGES], external: ["lmdb"] },
};

/** The bundle imports the built packages. */
const BESIDE_PACKAGES: InlineConfig = { plugins: [OWN_ADDRESSES, builtPackages()] };

export interface Script {
  readonly path: string;
  /** For Node; left out for none. */
  readonly flags?: readonly string[];
  remove(): void;
}

/** `name` is a file under packages without its ending, or the whole path of another one. */
export async function bundleScript(name: string): Promise<Script> {
  const source = isAbsolute(name) ? name : join(root, "packages", `${name}.ts`);
  const built = isBuilt ? builtFile(source) : undefined;
  const cache = join(root, "node_modules", ".cache");
  mkdirSync(cache, { recursive: true });
  const folder = mkdtempSync(join(cache, "script-"));
  await build({
    configFile: false,
    logLevel: "silent",
    root,
    ...settingsFor(built),
    build: {
      ssr: built ?? source,
      outDir: folder,
      rollupOptions: { output: { entryFileNames: "script.mjs" } },
    },
  });
  return { path: join(folder, "script.mjs"), remove: () => rmSync(folder, { recursive: true }) };
}

function settingsFor(built: string | undefined): InlineConfig {
  if (!isBuilt) return WITH_SOURCES;
  return built === undefined ? BESIDE_PACKAGES : WITH_PACKAGES;
}

/** A running process, spoken to in lines: one line in, one line of JSON out. */
export class RunningScript {
  readonly #process: ChildProcess;
  readonly #lines: AsyncIterator<string>;
  readonly #ended: Promise<unknown[]>;
  errorText = "";

  constructor(command: string, ...parameters: string[]) {
    // A group of its own, so that kill() also reaches what the command has started.
    const stdio: ["pipe", "pipe", "pipe"] = ["pipe", "pipe", "pipe"];
    this.#process = spawn(command, parameters, { stdio, cwd: root, detached: true });
    const { stdin, stdout, stderr } = this.#process;
    if (stdin === null || stdout === null || stderr === null) throw new Error("expected pipes");
    // A line may meet a process that was killed just before: next() then tells of the end.
    stdin.on("error", () => undefined);
    this.#lines = createInterface({ input: stdout })[Symbol.asyncIterator]();
    stderr.setEncoding("utf8").on("data", (text: string) => {
      this.errorText += text;
    });
    this.#ended = once(this.#process, "close");
  }

  get processId(): number {
    return this.#process.pid ?? 0;
  }

  async next(): Promise<unknown> {
    const { done, value } = await this.#lines.next();
    if (done === true) throw new Error(`expected a line, found the end: ${this.errorText}`);
    return JSON.parse(value);
  }

  ask(line: string): Promise<unknown> {
    this.#process.stdin?.write(`${line}\n`);
    return this.next();
  }

  /** The exit code, after the script was told that nothing more will be asked. */
  async end(): Promise<unknown> {
    this.#process.stdin?.end();
    const [code, signal] = await this.#ended;
    return code ?? signal;
  }

  /** At once, if it still runs. */
  kill(): void {
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return;
    process.kill(-this.processId, "SIGKILL");
  }
}
