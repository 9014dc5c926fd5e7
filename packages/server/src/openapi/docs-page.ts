/**
 * Docs page, `/docs`: Swagger UI over the OpenAPI document, to read and try the data API.
 *
 * Everything comes from this server, so the page works without a network, and the browser may load
 * nothing else. The files of Swagger UI are copied beside the built server; a server that runs from
 * source without a build does not have them.
 */

import { readFile } from "node:fs/promises";
import { type Answer, contentAnswer, type Headers } from "../http/answer.ts";
import { Refusal } from "../http/refusal.ts";
import { type Endpoint, messageBody } from "../http/router.ts";
import { FixedContent } from "./fixed-content.ts";

/** Resolves from the built file and from the source alike. */
const FOLDER: URL = new URL("../../dist/docs-page/", import.meta.url);

const HTML = "text/html; charset=utf-8";
const SCRIPT = "text/javascript; charset=utf-8";
const PLAIN = "text/plain; charset=utf-8";

/** Key of the page itself. Not a file name: its links are correct only at `/docs`. */
const PAGE_NAME = "";

/** Links are relative: a proxy may serve the server under a path of its own. */
const PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Big Peer data API</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="docs/swagger-ui.css">
</head>
<body>
<noscript>This page needs JavaScript. The document that it shows: <a href="openapi.json">openapi.json</a></noscript>
<div id="page"></div>
<script src="docs/swagger-ui-bundle.js"></script>
<script src="docs/start.js"></script>
</body>
</html>
`;

/** Separate file, because the page may not have inline scripts. */
const START = `SwaggerUIBundle({
  url: new URL("openapi.json", location.href).href,
  domNode: document.getElementById("page"),
  presets: [SwaggerUIBundle.presets.apis],
  layout: "BaseLayout",
  deepLinking: true,
  displayRequestDuration: true,
  persistAuthorization: false,
  tryItOutEnabled: true,
  validatorUrl: null,
});
`;

/** Files of the folder, with their content types. */
const FILES: { readonly [name: string]: string } = {
  "swagger-ui.css": "text/css; charset=utf-8",
  "swagger-ui-bundle.js": SCRIPT,
  "swagger-ui-bundle.js.LICENSE.txt": PLAIN,
  LICENSE: PLAIN,
  NOTICE: PLAIN,
};

const ABSENT =
  "The files of this page are not there: build the server (npm run build) and ask again.\n";

export interface DocsPageOptions {
  /** URL of the server for clients, when it differs from that of the page. */
  readonly serverUrl?: string | undefined;
  readonly folder?: URL;
}

export function docsEndpoints({ serverUrl, folder = FOLDER }: DocsPageOptions): Endpoint[] {
  const shared = { methods: ["GET", "HEAD"], failureBody: messageBody };
  const files = new PageFiles(folder, securityHeaders(serverUrl));
  return [
    {
      ...shared,
      name: "docs",
      path: "/docs",
      answer: (request) => files.answer(PAGE_NAME, request),
    },
    { ...shared, name: "docs", path: "/docs/", answer: () => redirect("../docs") },
    {
      ...shared,
      name: "docs",
      path: "/docs/{file}",
      answer: (request, { parameters }) => files.answer(parameters["file"] ?? "", request),
    },
  ];
}

/** Files of the page, read at the first request. */
class PageFiles {
  readonly #folder: URL;
  readonly #headers: Headers;
  readonly #contents = new Map<string, FixedContent>();
  #reading: Promise<boolean> | undefined;

  constructor(folder: URL, headers: Headers) {
    this.#folder = folder;
    this.#headers = headers;
    this.#add(PAGE_NAME, Buffer.from(PAGE), HTML);
    this.#add("start.js", Buffer.from(START), SCRIPT);
  }

  async answer(name: string, request: Parameters<Endpoint["answer"]>[0]): Promise<Answer> {
    // Concurrent requests share one read: the files are large.
    this.#reading ??= this.#readFolder().finally(() => {
      this.#reading = undefined;
    });
    if (!(await this.#reading)) return plainAnswer(503, ABSENT);
    const content = this.#contents.get(name);
    if (content === undefined) throw new Refusal(404, "there is no such file of the page");
    return content.answer(request);
  }

  /** Returns false when a file is missing; the page would stay empty. */
  async #readFolder(): Promise<boolean> {
    for (const [name, type] of Object.entries(FILES)) {
      if (this.#contents.has(name)) continue;
      try {
        this.#add(name, await readFile(new URL(name, this.#folder)), type);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === "ENOENT") return false;
        throw error;
      }
    }
    return true;
  }

  #add(name: string, bytes: Uint8Array, type: string): void {
    const headers = { "content-type": type, ...this.#headers };
    this.#contents.set(name, new FixedContent(bytes, headers));
  }
}

/** The page may load from here and call the server only. Swagger UI needs inline styles. */
function securityHeaders(serverUrl: string | undefined): Headers {
  const called = serverUrl === undefined ? "'self'" : `'self' ${new URL(serverUrl).origin}`;
  const policy = [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data: blob:",
    `connect-src ${called}`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ];
  return {
    "content-security-policy": policy.join("; "),
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
  };
}

function plainAnswer(status: number, text: string): Answer {
  const bytes = Buffer.from(text);
  return contentAnswer(status, { kind: "bytes", bytes }, { "content-type": PLAIN });
}

function redirect(location: string): Answer {
  return contentAnswer(308, { kind: "bytes", bytes: new Uint8Array() }, { location });
}
