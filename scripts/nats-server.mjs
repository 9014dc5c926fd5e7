/**
 * nats-server for tests and examples of a cluster: finds an installed one that is new enough, or
 * takes that of Debian and unpacks it into the user's cache. Nothing is installed on the machine.
 *
 * Older versions cannot sync before they acknowledge. Where the configured suite of Debian has only
 * such a one, the package comes from `sid` of the same mirror. Every byte is checked: the index by
 * its signature, with the keys that Debian installed, and the package by the index.
 *
 * Run as a program, it prints the path of the executable, or on standard error the reason why there
 * is none. Uses nothing but Node itself, gpgv and dpkg-deb, which are part of Debian.
 */
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { gunzipSync } from "node:zlib";
import { findInPath, isExecutable, printFound } from "./program.mjs";

const run = promisify(execFile);

/** The first version that a cluster supports. */
const VERSION_MIN = [2, 12];

const PACKAGE = "nats-server";
const KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg";
const SOURCES = ["/etc/apt/sources.list", "/etc/apt/sources.list.d"];
const FETCH_MS_MAX = 120_000;

/**
 * `{ path, version }` of an executable, or `{ reason }` why there is none. `NATS_SERVER` names
 * another one.
 */
export async function findNatsServer(env = process.env) {
  const named = env.NATS_SERVER;
  if (named !== undefined && named !== "") {
    const version = await versionOf(named);
    return version === undefined
      ? { reason: `NATS_SERVER is no nats-server: ${named}` }
      : { path: named, version };
  }
  for (const path of candidates(env)) {
    const version = await versionOf(path);
    if (version !== undefined && isNewEnough(version)) return { path, version };
  }
  try {
    const path = await unpackFromDebian(cacheOf(env));
    return { path, version: await versionOf(path) };
  } catch (error) {
    return {
      reason: `there is no nats-server of ${VERSION_MIN.join(".")} or newer: ${error.message}`,
    };
  }
}

/** Executables that are there: the one in PATH, and those in the cache, the newest first. */
function candidates(env) {
  const cached = namesIn(cacheOf(env))
    .filter((name) => name.startsWith(`${PACKAGE}-`))
    .toSorted((a, b) => compareVersions(numbersIn(b), numbersIn(a)))
    .map((name) => join(cacheOf(env), name, "usr/sbin", PACKAGE));
  return [...findInPath([PACKAGE], env), ...cached.filter(isExecutable)];
}

function cacheOf(env) {
  return join(env.XDG_CACHE_HOME ?? join(homedir(), ".cache"), "bigpeer");
}

/** Undefined when it is no nats-server, or does not run here. */
async function versionOf(path) {
  try {
    const { stdout } = await run(path, ["--version"]);
    return /v(\d+\.\d+\.\d+)/.exec(stdout)?.[1];
  } catch {
    return undefined;
  }
}

function isNewEnough(version) {
  return compareVersions(numbersIn(version), VERSION_MIN) >= 0;
}

function numbersIn(text) {
  return (/\d+(\.\d+)*/.exec(text)?.[0] ?? "0").split(".").map(Number);
}

function compareVersions(a, b) {
  for (let i = 0; i < Math.max(a.length, b.length); i++) {
    const difference = (a[i] ?? 0) - (b[i] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

async function unpackFromDebian(cache) {
  for (const tool of ["gpgv", "dpkg-deb"]) await requireTool(tool);
  const { mirror, suite } = debianSource();
  mkdirSync(cache, { recursive: true });
  for (const each of [suite, "sid"]) {
    const found = await packageIn(mirror, each, cache);
    if (found !== undefined && isNewEnough(found.Version)) return unpack(mirror, found, cache);
  }
  throw new Error(`neither ${suite} nor sid of ${mirror} has it`);
}

async function requireTool(name) {
  try {
    await run(name, ["--version"]);
  } catch {
    throw new Error(`there is no ${name}; install nats-server yourself, and set NATS_SERVER`);
  }
}

/** The mirror and the suite that this machine takes Debian's packages from. */
function debianSource() {
  for (const path of SOURCES.flatMap(filesIn)) {
    const found = sourceIn(readFileSync(path, "utf8"));
    if (found !== undefined) return found;
  }
  throw new Error("no mirror of Debian is configured in /etc/apt; set NATS_SERVER");
}

function filesIn(path) {
  const names = namesIn(path);
  if (names.length > 0) return names.map((name) => join(path, name));
  try {
    readFileSync(path);
    return [path];
  } catch {
    return [];
  }
}

function namesIn(folder) {
  try {
    return readdirSync(folder).toSorted();
  } catch {
    return [];
  }
}

/** Both formats of apt: lines that begin with `deb`, and paragraphs with `URIs` and `Suites`. */
function sourceIn(text) {
  const line = /^deb\s+(?:\[[^\]]*\]\s+)?(https?:\S+\/debian)\/?\s+([a-z-]+)\s/m.exec(text);
  if (line?.[1] !== undefined) return { mirror: line[1], suite: line[2] };
  for (const paragraph of text.split(/\n\s*\n/)) {
    const uri = /^URIs:\s*(https?:\S+\/debian)\/?\s*$/m.exec(paragraph)?.[1];
    const suite = /^Suites:\s*([a-z-]+)/m.exec(paragraph)?.[1];
    if (uri !== undefined && suite !== undefined) return { mirror: uri, suite };
  }
  return undefined;
}

/** The fields of the package in the index of a suite; undefined when it has none. */
async function packageIn(mirror, suite, cache) {
  const { stdout } = await run("dpkg", ["--print-architecture"]);
  const name = `main/binary-${stdout.trim()}/Packages.gz`;
  const hash = hashIn(await signedRelease(`${mirror}/dists/${suite}/InRelease`, cache), name);
  // By its hash: an index of that name may be replaced at any time.
  const folder = `${mirror}/dists/${suite}/${name.slice(0, name.lastIndexOf("/"))}`;
  const index = gunzipSync(await fetchChecked(`${folder}/by-hash/SHA256/${hash}`, hash));
  const start = index.indexOf(`\nPackage: ${PACKAGE}\n`);
  if (start === -1) return undefined;
  const end = index.indexOf("\n\n", start);
  const paragraph = index.toString("utf8", start + 1, end);
  return Object.fromEntries(paragraph.split("\n").map((line) => line.split(/: (.*)/, 2)));
}

/** The text of an InRelease file that is signed by Debian. */
async function signedRelease(url, cache) {
  const folder = mkdtempSync(join(cache, "release-"));
  try {
    const [signed, text] = [join(folder, "InRelease"), join(folder, "text")];
    writeFileSync(signed, await fetchBytes(url));
    await run("gpgv", ["--keyring", KEYRING, "--output", text, signed]).catch((error) => {
      throw new Error(`the signature of ${url} is not valid: ${error.message}`);
    });
    return readFileSync(text, "utf8");
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function hashIn(release, name) {
  const section = release.slice(release.indexOf("\nSHA256:"));
  const line = section.split("\n").find((each) => each.endsWith(` ${name}`));
  const hash = line?.trim().split(/\s+/)[0];
  if (hash === undefined) throw new Error(`the release of Debian has no ${name}`);
  return hash;
}

/** In one step at the end, so that no half of it is ever found. */
async function unpack(mirror, { Filename: file, SHA256: hash, Version: version }, cache) {
  const folder = mkdtempSync(join(cache, "unpacking-"));
  try {
    const archive = join(folder, "archive.deb");
    writeFileSync(archive, await fetchChecked(`${mirror}/${file}`, hash));
    const content = join(folder, "content");
    await run("dpkg-deb", ["-x", archive, content]);
    const target = join(cache, `${PACKAGE}-${version.replace(/[^\w.]/g, "_")}`);
    rmSync(target, { recursive: true, force: true });
    renameSync(content, target);
    return join(target, "usr/sbin", PACKAGE);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function fetchChecked(url, hash) {
  const bytes = await fetchBytes(url);
  const found = createHash("sha256").update(bytes).digest("hex");
  if (found === hash) return bytes;
  throw new Error(`expected ${url} with the SHA-256 ${hash}, found ${found}`);
}

async function fetchBytes(url) {
  const answer = await fetch(url, { signal: AbortSignal.timeout(FETCH_MS_MAX) });
  if (!answer.ok) throw new Error(`${url} answers ${answer.status}`);
  return Buffer.from(await answer.arrayBuffer());
}

if (process.argv[1] === fileURLToPath(import.meta.url)) printFound(await findNatsServer());
