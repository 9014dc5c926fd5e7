/**
 * One call with the curl program: its arguments, the command line for a shell, and the parsed answer.
 */
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

const folder = fileURLToPath(new URL(".", import.meta.url));

/** Longer than any call of the examples, also one that waits for a transaction. */
const SECONDS_MAX = 30;

/** Exit codes of curl for an unknown host and a refused connection. */
const UNREACHABLE = [6, 7];

/** The server cannot be reached. */
export class ConnectionError extends Error {}

/** Returns why curl cannot run, or undefined. */
export function findCurlProblem() {
  const { error, status } = spawnSync("curl", ["--version"], { stdio: "ignore" });
  if (error?.code === "ENOENT") return "expected the program curl, found none: please install it";
  return error === undefined && status === 0 ? undefined : `curl does not run: ${error ?? status}`;
}

/**
 * Returns the arguments of curl. It adds the credential, if there is one, and the type of the body,
 * unless the example sets them. As with curl, a header without a value is left out.
 */
export function curlWords({ method, target, headers, options, body }, { baseUrl, apiKey }) {
  const names = new Set(headers.map(({ name }) => name.toLowerCase()));
  const all = [...headers];
  if (apiKey !== undefined && !names.has("authorization")) {
    all.push({ name: "Authorization", value: `Bearer ${apiKey}` });
  }
  if (body !== "" && !names.has("content-type")) {
    all.push({ name: "Content-Type", value: "application/json" });
  }
  return [
    "-sS",
    method === "HEAD" ? "-I" : "-i",
    ...methodWords(method, body !== "" || options.some((option) => option.startsWith("-F "))),
    target.startsWith("http") ? target : baseUrl + target,
    ...all.flatMap(({ name, value }) => ["-H", value === "" ? `${name}:` : `${name}: ${value}`]),
    ...options.flatMap((option) => {
      const [word, ...rest] = option.split(" ");
      return rest.length === 0 ? [word] : [word, rest.join(" ")];
    }),
    ...(body === "" ? [] : ["-d", body]),
  ];
}

/** Arguments that set the method, none if curl uses it by default. */
function methodWords(method, hasContent) {
  if (method === "HEAD" || method === (hasContent ? "POST" : "GET")) return [];
  return ["-X", method];
}

/** Returns the command line to print, without the key. */
export function curlLine(words, apiKey) {
  const quoted = words.map((word) => {
    if (apiKey !== undefined && word.includes(apiKey))
      return `"${word.replace(apiKey, "$API_KEY")}"`;
    return /^[\w./:=-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;
  });
  return ["curl", ...quoted].join(" ");
}

/** Runs curl; returns the status, the headers (names in lower case) and the bytes of the body. */
export function callCurl(words) {
  const { status, stdout, stderr, error } = spawnSync(
    "curl",
    ["--max-time", String(SECONDS_MAX), ...words],
    { cwd: folder, maxBuffer: 64 * 1024 * 1024 },
  );
  if (error !== undefined) throw error;
  if (status !== 0) {
    const message = stderr.toString("utf8").trim() || `curl ended with ${status}`;
    throw UNREACHABLE.includes(status) ? new ConnectionError(message) : new Error(message);
  }
  return parseAnswer(stdout);
}

function parseAnswer(bytes) {
  const end = bytes.indexOf("\r\n\r\n");
  const [statusLine = "", ...lines] = bytes.subarray(0, end).toString("latin1").split("\r\n");
  const status = Number(/^HTTP\/\S+ (\d{3})/.exec(statusLine)?.[1]);
  const rest = bytes.subarray(end + 4);
  // The interim answer 100 Continue comes before the final one.
  if (status < 200) return parseAnswer(rest);
  const headers = new Map();
  for (const line of lines) {
    const colon = line.indexOf(":");
    headers.set(line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim());
  }
  return { status, headers, body: rest };
}
