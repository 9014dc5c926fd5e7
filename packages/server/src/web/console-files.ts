/**
 * Console files: the pages of the web console at `/` of the management listener, built into a folder
 * beside the built server. Without the folder, one small page says how to build them.
 *
 * A request reaches only the files that are in the folder. The build writes `index.html` last: when
 * it has changed, the next request sees the new files. The pages need no credential, because they
 * have nothing of this server; what they show they ask the management API for.
 */

import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { securityHeaders } from "../documentation/page-security.ts";
import type { Answer, Headers } from "../http/answer.ts";
import { FixedContent } from "../http/fixed-content.ts";
import type { HttpRequest } from "../http/http-request.ts";
import { acceptsHtml } from "../http/negotiation.ts";
import { Refusal } from "../http/refusal.ts";
import { type Endpoint, NothingHere, pathOf } from "../http/router.ts";
import { StaticFiles, versionOfBuild } from "../http/static-files.ts";
import { checkSite } from "../management/management-gate.ts";
import { Problem, problemBody } from "../management/problem.ts";

/** Resolves from the built file and from the source alike. */
const FOLDER: URL = new URL("../../dist/console/", import.meta.url);

const INDEX = "index.html";
const ASSETS = "assets";

/** Addresses of the pages: all are the same file, whose script shows the page. */
export const CONSOLE_PAGES: readonly string[] = [
  "/",
  "/data",
  "/statements",
  "/live",
  "/devices",
  "/access",
  "/replication",
  "/operations",
];

const PAGES: ReadonlySet<string> = new Set(CONSOLE_PAGES);

/** Places in other pages where a browser would show this one (Sec-Fetch-Dest). */
const FRAMES: ReadonlySet<unknown> = new Set(["iframe", "frame", "embed", "object", "fencedframe"]);

/** The page loads from this server only, and no page of another address may open or frame it. */
const HEADERS: Headers = {
  ...securityHeaders({
    "style-src": "'self'",
    "img-src": "'self' data: blob:",
    "font-src": "'self'",
    "worker-src": "'self'",
  }),
  "x-frame-options": "DENY",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
};

/** The names of these files contain a hash of their content. */
const HASHED: Headers = { ...HEADERS, "cache-control": "public, max-age=31536000, immutable" };

const PAGE_HEADERS: Headers = { ...HEADERS, vary: "accept" };

const NOT_BUILT_PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Big Peer console</title>
<link rel="icon" href="data:,">
</head>
<body>
<h1>Big Peer console</h1>
<p>The console is not built. In the folder of the repository, run <code>npm run build</code>, then
load this page again. <code>npm start</code> builds it as well.</p>
<p><a href="docs/api">The management API</a>, to read and to try, needs no build.</p>
</body>
</html>
`;

export interface ConsoleFilesOptions {
  /** Refuses a request under the name of another site (DNS rebinding). */
  readonly checkHost: (request: HttpRequest) => void;
  /** Folder of the built console, with a slash at its end. */
  readonly folder?: URL | undefined;
}

/** For all paths that the listener has no endpoint for. */
export function consoleFilesEndpoint({
  checkHost,
  folder = FOLDER,
}: ConsoleFilesOptions): Endpoint {
  const files = new ConsoleFiles(folder);
  return {
    name: "console",
    path: "/",
    methods: ["GET", "HEAD"],
    failureBody: problemBody,
    answer: async (request) => {
      const path = pathOf(request.target);
      const isPage = PAGES.has(path) && acceptsHtml(request.headers.accept);
      if (!isPage && !(await files.has(path))) throw new NothingHere();
      checkHost(request);
      if (isPage) checkFrame(request);
      else checkSite(request);
      return isPage ? files.page(request) : files.file(path, request);
    },
  };
}

/** A link of another site may open the console, in a window of its own and not in a frame. */
function checkFrame({ headers }: HttpRequest): void {
  if (!FRAMES.has(headers["sec-fetch-dest"])) return;
  const message = "expected a window of its own: no page may show the console in a frame";
  throw new Problem("OriginNotAllowed", message);
}

class ConsoleFiles {
  readonly #folder: URL;
  readonly #notBuilt = new FixedContent(Buffer.from(NOT_BUILT_PAGE), {
    "content-type": "text/html; charset=utf-8",
    ...PAGE_HEADERS,
  });
  #built: BuiltConsole | undefined;

  constructor(folder: URL) {
    this.#folder = folder;
  }

  /** Whether there is a file for a path other than that of a page. */
  async has(path: string): Promise<boolean> {
    return (await this.#current())?.names.has(path) === true;
  }

  async page(request: HttpRequest): Promise<Answer> {
    const content = await (await this.#current())?.files.find(INDEX);
    return (content ?? this.#notBuilt).answer(request);
  }

  async file(path: string, request: HttpRequest): Promise<Answer> {
    const content = await (await this.#current())?.files.find(path.slice(1));
    if (content === undefined) throw new Refusal(404, "the console is being built; load it again");
    return content.answer(request);
  }

  /** The console as it is on the disk; undefined when it is not built. */
  async #current(): Promise<BuiltConsole | undefined> {
    const version = await versionOfBuild(new URL(INDEX, this.#folder));
    if (version === undefined) this.#built = undefined;
    else if (version !== this.#built?.version) this.#built = await readBuilt(this.#folder, version);
    return this.#built;
  }
}

interface BuiltConsole {
  readonly version: string;
  /** Paths of the files beside the page. */
  readonly names: ReadonlySet<string>;
  readonly files: StaticFiles;
}

async function readBuilt(folder: URL, version: string): Promise<BuiltConsole> {
  const top = (await filesIn(folder)).filter((name) => name !== INDEX && !isHidden(name));
  const assets = (await filesIn(new URL(`${ASSETS}/`, folder))).map((name) => `${ASSETS}/${name}`);
  const headersOf = (name: string): Headers => {
    if (name === INDEX) return PAGE_HEADERS;
    return name.startsWith(`${ASSETS}/`) ? HASHED : HEADERS;
  };
  return {
    version,
    names: new Set([...top, ...assets].map((name) => `/${name}`)),
    files: new StaticFiles(folder, headersOf),
  };
}

/** The note of the build is no file of the console. */
function isHidden(name: string): boolean {
  return name.startsWith(".") || name === "stamp.json";
}

async function filesIn(folder: URL): Promise<string[]> {
  try {
    const entries = await readdir(join(fileURLToPath(folder)), { withFileTypes: true });
    return entries.filter((entry) => entry.isFile()).map(({ name }) => name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}
