/**
 * Start page, `GET /`: shows that the server runs, and links to its documentation and API (H53).
 * HTML if the client prefers it, otherwise JSON.
 */

import { stringifyJson } from "@bigpeer/protocol";
import { FixedContent } from "../http/fixed-content.ts";
import { prefersHtml } from "../http/negotiation.ts";
import { type Endpoint, messageBody } from "../http/router.ts";

/** Links are relative: a proxy may serve the server under a path of its own. */
const LINKS = [
  { name: "docs", href: "docs/", meaning: "the documentation" },
  { name: "apiDocs", href: "docs/api", meaning: "the data API, to read and to try" },
  { name: "openapi", href: "openapi.json", meaning: "the same as an OpenAPI document" },
  { name: "api", href: "api/v4", meaning: "where the operations of the data API begin" },
  { name: "health", href: "readyz", meaning: "whether the server can be given work" },
  { name: "metrics", href: "metrics", meaning: "figures for Prometheus" },
] as const;

/** The page loads nothing. */
const PAGE_HEADERS = {
  "content-type": "text/html; charset=utf-8",
  "content-security-policy":
    "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  vary: "accept",
};

const JSON_HEADERS = { "content-type": "application/json", vary: "accept" };

export function startPageEndpoint(version: string): Endpoint {
  const page = new FixedContent(Buffer.from(pageText(version)), PAGE_HEADERS);
  const json = new FixedContent(Buffer.from(jsonText(version)), JSON_HEADERS);
  return {
    name: "start",
    path: "/",
    methods: ["GET", "HEAD"],
    isJsonOnly: true,
    failureBody: messageBody,
    answer: (request) => (prefersHtml(request.headers.accept) ? page : json).answer(request),
  };
}

function pageText(version: string): string {
  const items = LINKS.map(({ href, meaning }) => {
    const shown = `<code>/${href}</code>`;
    return `<li>${href.startsWith("api/") ? shown : `<a href="${href}">${shown}</a>`}: ${meaning}</li>`;
  });
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Big Peer</title>
</head>
<body>
<h1>Big Peer ${version}</h1>
<p>This server runs. Clients need an API key or a login.</p>
<ul>
${items.join("\n")}
</ul>
</body>
</html>
`;
}

function jsonText(version: string): string {
  const links = Object.fromEntries(LINKS.map(({ name, href }) => [name, `/${href}`]));
  return stringifyJson({ name: "Big Peer", version, links });
}
