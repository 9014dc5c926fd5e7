/**
 * SDK files, `/sdk/`: the peer for pages without a build step. They are not secret, and pages of
 * every origin may load them.
 */

import type { Answer } from "../http/answer.ts";
import type { HttpRequest } from "../http/http-request.ts";
import { Refusal } from "../http/refusal.ts";
import { type Endpoint, messageBody } from "../http/router.ts";
import { StaticFiles } from "../http/static-files.ts";

/** Resolves from the built file and from the source alike. */
const FOLDER: URL = new URL("../../dist/sdk/", import.meta.url);

const NAMES: ReadonlySet<string> = new Set([
  "bigpeer.js",
  "bigpeer-loader.js",
  "bigpeer-worker.js",
  "bigpeer-patterns.js",
  "bigpeer-explain.js",
  "bigpeer-attachments.js",
]);

const HEADERS = {
  "access-control-allow-origin": "*",
  "cross-origin-resource-policy": "cross-origin",
  "x-content-type-options": "nosniff",
};

export function sdkEndpoint(folder: URL = FOLDER): Endpoint {
  const files = new StaticFiles(folder, () => HEADERS);
  return {
    name: "sdk",
    path: "/sdk/{file}",
    methods: ["GET", "HEAD"],
    failureBody: messageBody,
    answer: (request, { parameters }) => answerFile(files, parameters["file"] ?? "", request),
  };
}

async function answerFile(files: StaticFiles, name: string, request: HttpRequest): Promise<Answer> {
  if (!NAMES.has(name)) {
    throw new Refusal(404, `there is no such file of the SDK; it has ${[...NAMES].join(", ")}`);
  }
  const content = await files.find(name);
  if (content !== undefined) return content.answer(request);
  throw new Refusal(404, "the SDK is not built: run npm run build");
}
