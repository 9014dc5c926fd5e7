/**
 * Public files, `--public DIR`: the static files of an app, served at `/` without a credential. All
 * paths of the server itself go before them.
 *
 * A path ends in a file, or in `/` for the `index.html` of a folder. Files may be replaced at any
 * time: each answer has what is on disk. Hidden files are not served, except in `.well-known`, and
 * neither are links that lead out of the folder.
 */

import { readFile, realpath, stat } from "node:fs/promises";
import { join, sep } from "node:path";
import { PeerError } from "@bigpeer/protocol";
import { type Answer, type Headers, redirectAnswer } from "../http/answer.ts";
import { contentTypeOf } from "../http/content-type.ts";
import { fileAnswer } from "../http/file-answer.ts";
import { FixedContent } from "../http/fixed-content.ts";
import type { HttpRequest } from "../http/http-request.ts";
import { type Endpoint, messageBody, NothingHere, pathOf } from "../http/router.ts";

/** Larger files are sent from disk, without compression. */
const KEPT_FILE_SIZE_MAX = 1024 * 1024;

/** Of the files that are in memory; their compressed forms, which are smaller, come on top. */
const KEPT_SIZE_MAX = 16 * 1024 * 1024;

/** For names whose end is not known. */
const UNKNOWN_TYPE = "application/octet-stream";

interface FoundFile {
  readonly path: string;
  readonly size: number;
  /** Changes with the content. */
  readonly version: string;
}

type Found = { readonly kind: "file"; readonly file: FoundFile } | { readonly kind: "folder" };

interface KeptFile {
  readonly version: string;
  readonly content: FixedContent;
}

export class PublicFiles {
  readonly #folder: string;
  readonly #kept = new Map<string, KeptFile>();
  #keptSize = 0;

  private constructor(folder: string) {
    this.#folder = folder;
  }

  /** The folder must be there, and must not hold the data of the server. */
  static async open(folder: string, dataDir: string): Promise<PublicFiles> {
    const root = await realpath(folder).catch(() => undefined);
    const isFolder = root !== undefined && (await stat(root)).isDirectory();
    if (!isFolder) {
      throw new PeerError("config.invalid", `expected a folder for --public, found ${folder}`);
    }
    const data = await realpath(dataDir);
    if (`${data}${sep}`.startsWith(`${root}${sep}`)) {
      const message = `expected a folder for --public without the data of the server, found ${folder}: ${dataDir} is inside`;
      throw new PeerError("config.invalid", message);
    }
    return new PublicFiles(root);
  }

  /** Undefined if there is no file at the path. */
  async answer(request: HttpRequest): Promise<Answer | undefined> {
    const path = pathOf(request.target);
    const names = namesIn(path);
    if (names === undefined) return undefined;
    const isFolderWanted = names.at(-1) === "";
    const found = await this.#find(isFolderWanted ? [...names.slice(0, -1), "index.html"] : names);
    if (found?.kind === "file") return this.#send(found.file, request);
    if (found === undefined || isFolderWanted) return undefined;
    const index = await this.#find([...names, "index.html"]);
    if (index?.kind !== "file") return undefined;
    // Relative, for proxies: the links of the page must begin at the folder.
    const query = request.target.replace(/^[^?]*/, "");
    return redirectAnswer(`${encodeURIComponent(names.at(-1) ?? "")}/${query}`);
  }

  async #find(names: readonly string[]): Promise<Found | undefined> {
    try {
      const path = await realpath(join(this.#folder, ...names));
      if (!path.startsWith(`${this.#folder}${sep}`)) return undefined;
      const found = await stat(path);
      if (found.isDirectory()) return { kind: "folder" };
      if (!found.isFile()) return undefined;
      const { size, mtimeMs, ino } = found;
      const version = [size, mtimeMs, ino].map((part) => part.toString(36)).join("-");
      return { kind: "file", file: { path, size, version } };
    } catch (error) {
      if (isAbsent(error)) return undefined;
      throw error;
    }
  }

  async #send(file: FoundFile, request: HttpRequest): Promise<Answer> {
    const type = contentTypeOf(file.path) ?? UNKNOWN_TYPE;
    const described: Headers = { "content-type": type, "x-content-type-options": "nosniff" };
    if (file.size <= KEPT_FILE_SIZE_MAX && request.headers.range === undefined) {
      return (await this.#keep(file, described)).answer(request);
    }
    const kept = { etag: `W/"${file.version}"`, "cache-control": "no-cache" };
    return fileAnswer({ ...file, what: "the file", kept, described }, request);
  }

  async #keep({ path, size, version }: FoundFile, headers: Headers): Promise<FixedContent> {
    const known = this.#kept.get(path);
    if (known?.version === version) return known.content;
    const content = new FixedContent(await readFile(path), headers);
    if (this.#keptSize + size > KEPT_SIZE_MAX) {
      this.#kept.clear();
      this.#keptSize = 0;
    }
    // An older version counts until all are dropped.
    this.#keptSize += size;
    this.#kept.set(path, { version, content });
    return content;
  }
}

/** For all paths that the server has no endpoint for. */
export function publicEndpoint(files: PublicFiles): Endpoint {
  return {
    name: "public",
    path: "/",
    methods: ["GET", "HEAD"],
    failureBody: messageBody,
    answer: async (request) => {
      const answer = await files.answer(request);
      if (answer === undefined) throw new NothingHere();
      return answer;
    },
  };
}

/** The page of the app, or else the one of the server. */
export function publicStartPage(files: PublicFiles, own: Endpoint): Endpoint {
  return {
    ...own,
    answer: async (request, place) => (await files.answer(request)) ?? own.answer(request, place),
  };
}

/** The names in a path, decoded; the last one is empty for a folder. Undefined if one is not served. */
function namesIn(path: string): readonly string[] | undefined {
  const names = path.split("/").slice(1).map(decode);
  const isServed = names.every((name, i) => {
    if (name === undefined) return false;
    return name === "" ? i === names.length - 1 : isPlain(name);
  });
  return isServed ? (names as readonly string[]) : undefined;
}

function isPlain(name: string): boolean {
  // A colon selects a drive or another stream of a file on Windows.
  if (/[/\\\0]/.test(name) || (sep === "\\" && name.includes(":"))) return false;
  return !name.startsWith(".") || name === ".well-known";
}

function decode(part: string): string | undefined {
  try {
    return decodeURIComponent(part);
  } catch {
    return undefined;
  }
}

function isAbsent(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === "ENOENT" || code === "ENOTDIR" || code === "ELOOP" || code === "ENAMETOOLONG";
}
