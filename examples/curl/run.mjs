/**
 * Makes the calls of the .http files beside it with curl, one after the other, and compares each answer with
 * what the file states. See README.md for how to run it.
 */
import { randomUUID } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseCases } from "./case-file.mjs";
import { decodeCbor } from "./cbor.mjs";
import { ConnectionError, callCurl, curlLine, curlWords, findCurlProblem } from "./curl-call.mjs";
import { compare, escapeJson, fillIn } from "./expectation.mjs";

const folder = fileURLToPath(new URL(".", import.meta.url));
const root = fileURLToPath(new URL("../..", import.meta.url));

function giveUp(reason) {
  console.error(`examples/curl: ${reason}`);
  process.exit(2);
}

/** The environment wins; what it leaves out is in the file that the first start of a server writes. */
function readSettings({ BASE_URL, API_KEY, APP_ID, DATA_DIR, SHOW }) {
  const path = join(DATA_DIR ?? join(root, "data"), "quickstart.json");
  const isNeeded = API_KEY === undefined || APP_ID === undefined;
  if (isNeeded && !existsSync(path)) {
    giveUp(`expected API_KEY and APP_ID, or DATA_DIR with a quickstart.json: ${path} is not there`);
  }
  const quickstart = isNeeded ? JSON.parse(readFileSync(path, "utf8")) : {};
  const baseUrl = BASE_URL ?? quickstart.dataUrl ?? "http://127.0.0.1:8080";
  return {
    baseUrl: baseUrl.replace(/\/$/, ""),
    apiKey: API_KEY ?? quickstart.apiKey,
    appId: APP_ID ?? quickstart.appId,
    isShown: SHOW === "1",
  };
}

function findFiles(wanted) {
  const all = readdirSync(folder).filter((name) => name.endsWith(".http"));
  const files = all.filter(
    (name) => wanted.length === 0 || wanted.some((part) => name.includes(part)),
  );
  if (files.length === 0) giveUp(`expected a part of one of these names: ${all.join(", ")}`);
  return files.toSorted();
}

function decodeBody({ headers, body }) {
  const type = headers.get("content-type") ?? "";
  if (type.startsWith("application/cbor")) return decodeCbor(body);
  const text = body.toString("utf8");
  try {
    return JSON.parse(text);
  } catch {
    // In an example no text ends with a line break.
    return text.replace(/\n$/, "");
  }
}

function parseExpected(text) {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** What differs between the answer and the example. */
function judge(expected, answer, variables, captured) {
  const found = [];
  if (answer.status !== expected.status) {
    found.push(`status: expected ${expected.status}, found ${answer.status}`);
  }
  for (const { name, value } of expected.headers) {
    const text = answer.headers.get(name.toLowerCase());
    found.push(...compare(fillIn(value, variables), text, captured, name));
  }
  if (expected.body === "") {
    if (answer.body.length > 0) found.push(`body: expected none, found ${answer.body}`);
    return found;
  }
  const body = parseExpected(fillIn(expected.body, variables, escapeJson));
  return [...found, ...compare(body, decodeBody(answer), captured)];
}

function fillRequest(request, variables) {
  const { target, headers, options, body } = request;
  return {
    ...request,
    target: fillIn(target, variables),
    headers: headers.map(({ name, value }) => ({ name, value: fillIn(value, variables) })),
    options: options.map((option) => fillIn(option, variables)),
    body: fillIn(body, variables, escapeJson),
  };
}

/** True when the answer is as stated. */
function runCase({ place, title, request, expected }, variables, settings) {
  let line = "";
  let differences = [];
  try {
    const words = curlWords(fillRequest(request, variables), settings);
    line = curlLine(words, settings.apiKey);
    const captured = new Map();
    differences = judge(expected, callCurl(words), variables, captured);
    for (const [name, value] of captured) variables.set(name, value);
  } catch (error) {
    if (error instanceof ConnectionError) giveUp(error.message);
    differences = [error.message];
  }
  const isOk = differences.length === 0;
  console.log(`${isOk ? "ok    " : "FAILED"} ${place} ${title}`);
  if (!isOk || settings.isShown) console.log(`         ${line}`);
  for (const difference of differences) console.log(`         ${difference}`);
  return isOk;
}

const problem = findCurlProblem();
if (problem !== undefined) giveUp(problem);
const settings = readSettings(process.env);
let count = 0;
let failed = 0;
for (const name of findFiles(process.argv.slice(2))) {
  // $RUN differs from run to run, for keys that a server remembers.
  const variables = new Map([
    ["API_KEY", settings.apiKey],
    ["APP_ID", settings.appId],
    ["RUN", randomUUID()],
  ]);
  for (const example of parseCases(readFileSync(join(folder, name), "utf8"), name)) {
    count++;
    if (!runCase(example, variables, settings)) failed++;
  }
}
console.log(`${count} calls to ${settings.baseUrl}, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
