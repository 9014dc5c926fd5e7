/**
 * One call with the curl program: the words that it is given, how a shell would be told them, and what came
 * back.
 */
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

const folder = fileURLToPath(new URL(".", import.meta.url));

/** Longer than any call of the examples takes, even where the server waits for a transaction. */
const SECONDS_MAX = 30;

/** What curl ends with when it finds nobody at the address, by name or by port. */
const NOBODY_THERE = [6, 7];

/** No call can succeed. */
export class ConnectionError extends Error {}

/** Says why the examples cannot run here, or nothing. */
export function findCurlProblem() {
  const { error, status } = spawnSync("curl", ["--version"], { stdio: "ignore" });
  if (error?.code === "ENOENT") return "expected the program curl, found none: please install it";
  return error === undefined && status === 0 ? undefined : `curl does not run: ${error ?? status}`;
}

/**
 * The words after `curl`. The credential, if there is one, and the type of the body are added where the example
 * does not name them; a header without a value is left out, as curl has it.
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

/** What curl sends without being told is not told. */
function methodWords(method, hasContent) {
  if (method === "HEAD" || method === (hasContent ? "POST" : "GET")) return [];
  return ["-X", method];
}

/** As one would type it. The key stays out of what is printed. */
export function curlLine(words, apiKey) {
  const quoted = words.map((word) => {
    if (apiKey !== undefined && word.includes(apiKey))
      return `"${word.replace(apiKey, "$API_KEY")}"`;
    return /^[\w./:=-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;
  });
  return ["curl", ...quoted].join(" ");
}

/** Status, headers (names in lower case) and the bytes of the body. */
export function callCurl(words) {
  const { status, stdout, stderr, error } = spawnSync(
    "curl",
    ["--max-time", String(SECONDS_MAX), ...words],
    { cwd: folder, maxBuffer: 64 * 1024 * 1024 },
  );
  if (error !== undefined) throw error;
  if (status !== 0) {
    const message = stderr.toString("utf8").trim() || `curl ended with ${status}`;
    throw NOBODY_THERE.includes(status) ? new ConnectionError(message) : new Error(message);
  }
  return parseAnswer(stdout);
}

function parseAnswer(bytes) {
  const end = bytes.indexOf("\r\n\r\n");
  const [statusLine = "", ...lines] = bytes.subarray(0, end).toString("latin1").split("\r\n");
  const status = Number(/^HTTP\/\S+ (\d{3})/.exec(statusLine)?.[1]);
  const rest = bytes.subarray(end + 4);
  // An answer of the form "go on" comes before the answer.
  if (status < 200) return parseAnswer(rest);
  const headers = new Map();
  for (const line of lines) {
    const colon = line.indexOf(":");
    headers.set(line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim());
  }
  return { status, headers, body: rest };
}
