/**
 * Runner of the examples in a folder: sends the calls of its .http files with curl, in order, and
 * compares each answer with the expected one.
 */
import { randomUUID } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseCases } from "./case-file.mjs";
import { decodeCbor } from "./cbor.mjs";
import { ConnectionError, callCurl, curlLine, curlWords, findCurlProblem } from "./curl-call.mjs";
import { compare, escapeJson, fillIn } from "./expectation.mjs";

/** The examples cannot run at all. */
export class RunError extends Error {}

/** Reads the file that the first start of a server wrote. */
export function readQuickstart(dataDir, otherwise) {
  const root = fileURLToPath(new URL("../..", import.meta.url));
  const path = join(dataDir ?? join(root, "data"), "quickstart.json");
  if (existsSync(path)) return JSON.parse(readFileSync(path, "utf8"));
  throw new RunError(
    `expected ${otherwise}, or DATA_DIR with a quickstart.json: ${path} does not exist`,
  );
}

/**
 * Runs the files of `folder` whose names contain one of the words in `wanted`, or all files, and sets
 * the exit code. `settings` apply to each call; the examples can use `variables`.
 */
export function runExamples({ folder, wanted, settings, variables }) {
  let count = 0;
  let failed = 0;
  for (const name of findFiles(folder, wanted)) {
    // $RUN differs in each run, because a server remembers idempotency keys.
    const known = new Map([...Object.entries(variables), ["RUN", randomUUID()]]);
    for (const example of parseCases(readFileSync(join(folder, name), "utf8"), name)) {
      count++;
      if (!runCase(example, known, settings)) failed++;
    }
  }
  console.log(`${count} calls to ${settings.baseUrl}, ${failed} failed`);
  process.exitCode = failed === 0 ? 0 : 1;
}

/** Runs `work`. A RunError is printed as one sentence and sets exit code 2. */
export function orGiveUp(folder, work) {
  try {
    const problem = findCurlProblem();
    if (problem !== undefined) throw new RunError(problem);
    work();
  } catch (error) {
    if (!(error instanceof RunError)) throw error;
    console.error(`${folder}: ${error.message}`);
    process.exitCode = 2;
  }
}

/** Waits before the call is repeated. */
function sleep() {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 100);
}

function findFiles(folder, wanted) {
  const all = readdirSync(folder).filter((name) => name.endsWith(".http"));
  const files = all.filter(
    (name) => wanted.length === 0 || wanted.some((part) => name.includes(part)),
  );
  if (files.length === 0) {
    throw new RunError(`expected a part of one of these names: ${all.join(", ")}`);
  }
  return files.toSorted();
}

function decodeBody({ headers, body }) {
  const type = headers.get("content-type") ?? "";
  if (type.startsWith("application/cbor")) return decodeCbor(body);
  const text = body.toString("utf8");
  try {
    return JSON.parse(text);
  } catch {
    // An expected text has no line break at its end.
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

/** Lists the differences between the answer and the example. */
function check(expected, answer, variables, captured) {
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

/** Returns true if the answer is the expected one. */
function runCase({ place, title, request, expected }, variables, settings) {
  let line = "";
  let differences = [];
  try {
    const words = curlWords(fillRequest(request, variables), settings);
    line = curlLine(words, settings.apiKey);
    const captured = new Map();
    const lastMs = Date.now() + expected.seconds * 1000;
    for (;;) {
      captured.clear();
      differences = check(expected, callCurl(words), variables, captured);
      if (differences.length === 0 || Date.now() >= lastMs) break;
      sleep();
    }
    for (const [name, value] of captured) variables.set(name, value);
  } catch (error) {
    if (error instanceof ConnectionError) throw new RunError(error.message);
    differences = [error.message];
  }
  const isOk = differences.length === 0;
  console.log(`${isOk ? "ok    " : "FAILED"} ${place} ${title}`);
  if (!isOk || settings.isShown) console.log(`         ${line}`);
  for (const difference of differences) console.log(`         ${difference}`);
  return isOk;
}
