/**
 * Documentation site, `/docs/`: pages and their files, built by `npm run docs:build` into a folder
 * beside the built server. Without the folder, one small page says how to build it.
 *
 * The build writes `site.json`, which names all files of the site. A request can reach these names
 * and no others. When the site is built again, the next request sees the new one.
 */

import { readFile } from "node:fs/promises";
import { type Answer, type Headers, redirectAnswer } from "../http/answer.ts";
import { FixedContent } from "../http/fixed-content.ts";
import type { HttpRequest } from "../http/http-request.ts";
import { prefersHtml } from "../http/negotiation.ts";
import { Refusal } from "../http/refusal.ts";
import { type Endpoint, messageBody } from "../http/router.ts";
import { StaticFiles, versionOfBuild } from "../http/static-files.ts";
import { securityHeaders } from "./page-security.ts";

/** Resolves from the built file and from the source alike. */
const FOLDER: URL = new URL("../../dist/docs-site/", import.meta.url);

const MANIFEST = "site.json";
const NOT_FOUND = "404.html";

/** The names of these files contain a hash of their content. */
const HASHED = /^assets\//;
const IMMUTABLE = "public, max-age=31536000, immutable";

/** Links are relative: a proxy may serve the server under a path of its own. */
const NOT_BUILT_PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Big Peer documentation</title>
<link rel="icon" href="data:,">
</head>
<body>
<h1>Big Peer documentation</h1>
<p>The documentation site is not built. In the folder of the repository, run
<code>npm run docs:build</code>, then load this page again. The same pages are the Markdown files in
the folder <code>docs</code>.</p>
<p><a href="api">The data API</a>, to read and to try, needs no build.</p>
</body>
</html>
`;

/** `folder` is the folder of the built site, with a slash at its end. */
export function docsSiteEndpoints(folder: URL = FOLDER): Endpoint[] {
  const site = new DocsSite(folder);
  const shared = { name: "docs", methods: ["GET", "HEAD"], failureBody: messageBody };
  return [
    { ...shared, path: "/docs", answer: () => redirectAnswer("docs/") },
    { ...shared, path: "/docs/", answer: (request) => site.answer("", request) },
    {
      ...shared,
      path: "/docs/{path*}",
      answer: (request, { parameters }) => site.answer(parameters["path"] ?? "", request),
    },
  ];
}

class DocsSite {
  readonly #folder: URL;
  readonly #notBuilt = new FixedContent(Buffer.from(NOT_BUILT_PAGE), {
    "content-type": "text/html; charset=utf-8",
    ...securityHeaders(),
  });
  #built: BuiltSite | undefined;

  constructor(folder: URL) {
    this.#folder = folder;
  }

  async answer(path: string, request: HttpRequest): Promise<Answer> {
    const built = await this.#current();
    if (built !== undefined) return built.answer(path, request);
    if (path === "") return this.#notBuilt.answer(request);
    throw new Refusal(404, "the documentation site is not built: run npm run docs:build");
  }

  /** The site as it is on the disk; undefined when it is not built. */
  async #current(): Promise<BuiltSite | undefined> {
    const version = await versionOfBuild(new URL(MANIFEST, this.#folder));
    if (version !== undefined && version === this.#built?.version) return this.#built;
    const manifest = version === undefined ? undefined : await this.#readManifest();
    if (version === undefined || manifest === undefined) this.#built = undefined;
    else this.#built = new BuiltSite(this.#folder, version, manifest);
    return this.#built;
  }

  /** Undefined when a build has just taken the file away. */
  async #readManifest(): Promise<Manifest | undefined> {
    try {
      return parseManifest(await readFile(new URL(MANIFEST, this.#folder), "utf8"));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
      throw error;
    }
  }
}

interface Manifest {
  readonly files: ReadonlySet<string>;
  /** Hashes of the scripts in the text of pages, as a content security policy names them. */
  readonly scriptHashes: readonly string[];
}

function parseManifest(text: string): Manifest {
  const { files, scriptHashes } = parseObject(text);
  if (!isTexts(files) || !isTexts(scriptHashes)) {
    throw new Error(`failed to read ${MANIFEST} of the documentation site; build the site again`);
  }
  return { files: new Set(files), scriptHashes };
}

function parseObject(text: string): { readonly [name: string]: unknown } {
  try {
    return Object(JSON.parse(text)) as { readonly [name: string]: unknown };
  } catch {
    return {};
  }
}

function isTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((item) => typeof item === "string");
}

class BuiltSite {
  readonly version: string;
  readonly #names: ReadonlySet<string>;
  readonly #files: StaticFiles;

  constructor(folder: URL, version: string, { files, scriptHashes }: Manifest) {
    const scripts = ["'self'", ...scriptHashes.map((hash) => `'${hash}'`)].join(" ");
    const headers = securityHeaders({ "script-src": scripts, "font-src": "'self'" });
    const hashed: Headers = { ...headers, "cache-control": IMMUTABLE };
    this.version = version;
    this.#names = files;
    this.#files = new StaticFiles(folder, (name) => (HASHED.test(name) ? hashed : headers));
  }

  async answer(path: string, request: HttpRequest): Promise<Answer> {
    const name = this.#nameOf(path);
    const content = name === undefined ? undefined : await this.#files.find(name);
    if (content !== undefined) return content.answer(request);
    const location = this.#locationOf(path);
    return location === undefined ? this.#absent(request) : redirectAnswer(location);
  }

  /** File at a path: the page `sdk.html` is at `sdk`, and `decisions/index.html` at `decisions/`. */
  #nameOf(path: string): string | undefined {
    if (this.#names.has(path) && !path.endsWith(".html")) return path;
    const page = path === "" || path.endsWith("/") ? `${path}index.html` : `${path}.html`;
    const isAddress = page !== NOT_FOUND && !/(?:^|\/)index$/.test(path);
    return isAddress && this.#names.has(page) ? page : undefined;
  }

  /** Where the page is that another form of its address means, relative to the path. */
  #locationOf(path: string): string | undefined {
    const parts = path.replace(/\.html$/, "").split("/");
    const last = parts.pop() ?? "";
    if (last === "index") return this.#isPage([...parts, ""]) ? "./" : undefined;
    if (last === "") {
      const above = parts.at(-1) ?? "";
      return this.#isPage(parts) ? `../${encodeURIComponent(above)}` : undefined;
    }
    if (path.endsWith(".html") && this.#isPage([...parts, last])) return encodeURIComponent(last);
    return this.#isPage([...parts, last, ""]) ? `${encodeURIComponent(last)}/` : undefined;
  }

  #isPage(parts: readonly string[]): boolean {
    return this.#nameOf(parts.join("/"))?.endsWith(".html") === true;
  }

  async #absent(request: HttpRequest): Promise<Answer> {
    const page = prefersHtml(request.headers.accept)
      ? await this.#files.find(NOT_FOUND)
      : undefined;
    if (page === undefined) throw new Refusal(404, "there is no such page of the documentation");
    return page.answer(request, 404);
  }
}
