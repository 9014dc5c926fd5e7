/**
 * API page, `/docs/api`: Swagger UI over the OpenAPI document of the same listener, to read and try
 * the data API or the management API.
 *
 * Everything comes from this server, so the page works without a network, and the browser may load
 * nothing else. The files of Swagger UI are copied beside the built server; a server that runs from
 * source without a build does not have them.
 */

import { type Answer, contentAnswer, redirectAnswer } from "../http/answer.ts";
import { FixedContent } from "../http/fixed-content.ts";
import type { HttpRequest } from "../http/http-request.ts";
import { Refusal } from "../http/refusal.ts";
import { type Endpoint, type FailureBody, messageBody } from "../http/router.ts";
import { StaticFiles } from "../http/static-files.ts";
import { securityHeaders } from "./page-security.ts";

/** Resolves from the built file and from the source alike. */
const FOLDER: URL = new URL("../../dist/api-page/", import.meta.url);

const HTML = "text/html; charset=utf-8";
const SCRIPT = "text/javascript; charset=utf-8";
const PLAIN = "text/plain; charset=utf-8";

/** Key of the page itself. Not a file name: its links are correct only at `/docs/api`. */
const PAGE_NAME = "";

/** Links are relative: a proxy may serve the server under a path of its own. */
function pageText(title: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="api/swagger-ui.css">
</head>
<body>
<noscript>This page needs JavaScript. The document that it shows: <a href="../openapi.json">openapi.json</a></noscript>
<div id="page"></div>
<script src="api/swagger-ui-bundle.js"></script>
<script src="api/start.js"></script>
</body>
</html>
`;
}

/** Separate file, because the page may not have inline scripts. */
const START = `SwaggerUIBundle({
  url: new URL("../openapi.json", location.href).href,
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

/** Files of the folder. Without one of them the page would stay empty. */
const FILES = [
  "swagger-ui.css",
  "swagger-ui-bundle.js",
  "swagger-ui-bundle.js.LICENSE.txt",
  "LICENSE",
  "NOTICE",
];

const ABSENT =
  "The files of this page are not there: build the server (npm run build) and ask again.\n";

export interface ApiPageOptions {
  /** URL of the server for clients, when it differs from that of the page. */
  readonly serverUrl?: string | undefined;
  readonly folder?: URL | undefined;
  /** By default that of the data API. */
  readonly title?: string;
  /** Error body of the listener. */
  readonly failureBody?: FailureBody;
}

export function apiPageEndpoints(options: ApiPageOptions): Endpoint[] {
  const page = new ApiPage(options);
  const { failureBody = messageBody } = options;
  const shared = { name: "docs", methods: ["GET", "HEAD"], failureBody };
  return [
    { ...shared, path: "/docs/api", answer: (request) => page.answer(PAGE_NAME, request) },
    { ...shared, path: "/docs/api/", answer: () => redirectAnswer("../api") },
    {
      ...shared,
      path: "/docs/api/{file}",
      answer: (request, { parameters }) => page.answer(parameters["file"] ?? "", request),
    },
  ];
}

class ApiPage {
  readonly #files: StaticFiles;
  readonly #own: ReadonlyMap<string, FixedContent>;

  constructor({ serverUrl, folder = FOLDER, title = "Big Peer data API" }: ApiPageOptions) {
    const called = serverUrl === undefined ? "'self'" : `'self' ${new URL(serverUrl).origin}`;
    const headers = securityHeaders({ "img-src": "'self' data: blob:", "connect-src": called });
    const create = (text: string, type: string): FixedContent =>
      new FixedContent(Buffer.from(text), { "content-type": type, ...headers });
    this.#files = new StaticFiles(folder, () => headers);
    this.#own = new Map([
      [PAGE_NAME, create(pageText(title), HTML)],
      ["start.js", create(START, SCRIPT)],
    ]);
  }

  async answer(name: string, request: HttpRequest): Promise<Answer> {
    const contents = await Promise.all(FILES.map((file) => this.#files.find(file)));
    if (contents.includes(undefined)) return plainAnswer(503, ABSENT);
    const content = this.#own.get(name) ?? contents[FILES.indexOf(name)];
    if (content === undefined) throw new Refusal(404, "there is no such file of the page");
    return content.answer(request);
  }
}

function plainAnswer(status: number, text: string): Answer {
  const bytes = Buffer.from(text);
  return contentAnswer(status, { kind: "bytes", bytes }, { "content-type": PLAIN });
}
