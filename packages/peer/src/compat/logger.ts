/**
 * Logger: the log of this entry, and of apps that write to it. It keeps the newest entries for an
 * export.
 */

import { host } from "../this-host.ts";
import { DittoError } from "./ditto-error.ts";

export type LogLevel = "Error" | "Warning" | "Info" | "Debug" | "Verbose";

export type CustomLogCallback = (logLevel: LogLevel, message: string) => void;

const LEVELS: readonly LogLevel[] = ["Error", "Warning", "Info", "Debug", "Verbose"];

/** Entries that are kept for an export. */
const KEPT_MAX = 10_000;

interface Entry {
  readonly timestamp: string;
  readonly level: LogLevel;
  readonly message: string;
}

/** All members are static: there is one log for all instances. */
// oxlint-disable-next-line typescript/no-extraneous-class -- apps call the members of the class.
export class Logger {
  /** Whether the log is shown. An export has all entries. */
  static enabled = true;
  static #minimum: LogLevel = "Info";
  static #callback: CustomLogCallback | undefined;
  static readonly #kept: Entry[] = [];
  static readonly #said = new Set<string>();

  private constructor() {}

  /** There is no log file: use `setCustomLogCallback` or `exportToFile`. */
  static get logFile(): string | undefined {
    return undefined;
  }

  static get minimumLogLevel(): LogLevel {
    return Logger.#minimum;
  }

  static set minimumLogLevel(level: LogLevel) {
    if (!LEVELS.includes(level)) {
      const message = `expected one of ${LEVELS.join(", ")} as the log level, found ${level}`;
      throw new DittoError("unsupported", message);
    }
    Logger.#minimum = level;
  }

  static get customLogCallback(): CustomLogCallback | undefined {
    return Logger.#callback;
  }

  /** It receives what is shown; undefined removes it. */
  static async setCustomLogCallback(callback?: CustomLogCallback): Promise<void> {
    Logger.#callback = callback;
  }

  /**
   * Writes the newest entries, at most 10,000, to a new file: JSON lines, with gzip. Returns the
   * number of bytes.
   */
  static async exportToFile(path: string): Promise<number> {
    const { writeFile } = host;
    if (writeFile === undefined) {
      throw new DittoError("unsupported", "a browser has no files to export the log to");
    }
    const lines = Logger.#kept.map((entry) => `${JSON.stringify(entry)}\n`).join("");
    const zipped = new Blob([lines]).stream().pipeThrough(new CompressionStream("gzip"));
    const bytes = new Uint8Array(await new Response(zipped).arrayBuffer());
    try {
      await writeFile(path, bytes, true);
    } catch (error) {
      throw fileError(error);
    }
    return bytes.length;
  }

  static log(level: LogLevel, message: string): void {
    const entry = { timestamp: new Date().toISOString(), level, message };
    Logger.#kept.push(entry);
    if (Logger.#kept.length > KEPT_MAX) Logger.#kept.shift();
    if (!Logger.enabled || LEVELS.indexOf(level) > LEVELS.indexOf(Logger.#minimum)) return;
    host.print(level === "Error" || level === "Warning", `${entry.timestamp} ${level}: ${message}`);
    Logger.#callback?.(level, message);
  }

  static error(message: string): void {
    Logger.log("Error", message);
  }

  static warning(message: string): void {
    Logger.log("Warning", message);
  }

  static info(message: string): void {
    Logger.log("Info", message);
  }

  static debug(message: string): void {
    Logger.log("Debug", message);
  }

  static verbose(message: string): void {
    Logger.log("Verbose", message);
  }

  /** A warning that is given once in a process: about what this SDK does not have. */
  static warnOnce(message: string): void {
    if (Logger.#said.has(message)) return;
    Logger.#said.add(message);
    Logger.warning(message);
  }
}

const FILE_CODES = {
  EEXIST: "io/already-exists",
  ENOENT: "io/not-found",
  EACCES: "io/permission-denied",
  EPERM: "io/permission-denied",
} as const;

/** The error of a system call on a file. */
export function fileError(error: unknown): DittoError {
  const { code, message } = error as { readonly code?: string; readonly message: string };
  const known = FILE_CODES[code as keyof typeof FILE_CODES] ?? "io/operation-failed";
  return new DittoError(known, message, { cause: error });
}
