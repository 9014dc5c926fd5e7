/**
 * `bigpeer doctor`: checks what a command needs, one thing after the other, and says what to do
 * about each fault. It shows where each setting comes from, and never a key.
 */

import { VERSION } from "@bigpeer/server/command";
import {
  type Addresses,
  dataClient,
  findAddresses,
  managementClient,
  type Sourced,
  VARIABLES,
} from "../connection/addresses.ts";
import { openToOthers, profilesPath } from "../connection/profiles.ts";
import { readHealth, readVersion } from "../connection/server-state.ts";
import type { Call, CommandDefinition } from "../program/definition.ts";
import { EXIT } from "../program/failure.ts";
import { BOTH, OUTPUT } from "./shared-options.ts";
import { reasonOf } from "./unreachable.ts";

type Verdict = "ok" | "note" | "fault";

interface Finding {
  readonly check: string;
  readonly verdict: Verdict;
  readonly found: string;
  /** What to do. */
  readonly fix?: string;
}

export const DOCTOR: CommandDefinition = {
  name: "doctor",
  meaning: "check the connection to a server, and say what to do about faults",
  group: "Look at a server",
  examples: ["doctor", "doctor --url https://peer.example.com"],
  groups: [BOTH, OUTPUT],
  run: doctor,
};

async function doctor(call: Call): Promise<number> {
  const { host, options, output } = call;
  const addresses = findAddresses(options, host);
  const findings: Finding[] = [
    ...settingFindings(addresses),
    ...fileFindings(profilesPath(host)),
    ...(await serverFindings(addresses, call)),
    ...(await managementFindings(addresses, call)),
  ];
  host.signal.throwIfAborted();
  if (output.format === "table") {
    for (const finding of findings) await output.write(lineOf(finding, call));
  } else await output.rows(findings.map((finding) => ({ ...finding })));
  return findings.some(({ verdict }) => verdict === "fault") ? exitCode(findings) : EXIT.done;
}

/** Without a server or a key, nothing else works either. */
function exitCode(findings: readonly Finding[]): number {
  const isUnreachable = findings.some(
    ({ check, verdict }) => verdict === "fault" && (check === "server" || check === "key"),
  );
  return isUnreachable ? EXIT.unreachable : EXIT.failed;
}

const MARKS = { ok: ["green", "ok"], note: ["yellow", "--"], fault: ["red", "!!"] } as const;

function lineOf({ check, verdict, found, fix }: Finding, { output }: Call): string {
  const [colour, mark] = MARKS[verdict];
  const line = `${output.style(colour, mark)}  ${check.padEnd(12)} ${found}\n`;
  return fix === undefined ? line : `${line}${" ".repeat(17)}${output.style("dim", fix)}\n`;
}

function shown(check: string, setting: Sourced | undefined, isSecret: boolean): Finding[] {
  if (setting === undefined) return [];
  const value = isSecret ? "set" : setting.value;
  return [{ check, verdict: "ok", found: `${value}, from ${setting.source}` }];
}

function settingFindings({ url, key, managementUrl, adminToken }: Addresses): Finding[] {
  const missing: Finding = {
    check: "key",
    verdict: "fault",
    found: "none",
    fix: `set ${VARIABLES.key}, or run bigpeer login`,
  };
  return [
    ...shown("url", url, false),
    ...(key === undefined ? [missing] : shown("key", key, true)),
    ...shown("management", managementUrl, false),
    ...shown("admin token", adminToken, true),
  ];
}

function fileFindings(path: string): Finding[] {
  const found = openToOthers(path);
  const fix = `chmod 600 ${path}`;
  return found === undefined ? [] : [{ check: "profiles", verdict: "fault", found, fix }];
}

async function serverFindings(addresses: Addresses, { host }: Call): Promise<Finding[]> {
  const url = addresses.url?.value;
  if (url === undefined) {
    const fix = `start one with bigpeer start, set ${VARIABLES.url}, or run bigpeer login`;
    return [{ check: "server", verdict: "fault", found: "none is known", fix }];
  }
  try {
    const { status, httpStatus, elapsedMs } = await readHealth(url, host.signal);
    if (status === undefined) return [notOurs(url, httpStatus)];
    const isReady = status === "ready";
    const found = `${status}, answered in ${elapsedMs} ms`;
    const fix = "wait until it is ready, or read its log";
    const health: Finding = isReady
      ? { check: "server", verdict: "ok", found }
      : { check: "server", verdict: "fault", found, fix };
    return [
      health,
      ...versionFindings(await readVersion(url, host.signal)),
      ...(await keyFindings(addresses, host)),
    ];
  } catch (error) {
    const fix = "check the address, and that the server runs and that a firewall lets you through";
    return [{ check: "server", verdict: "fault", found: reasonOf(error), fix }];
  }
}

function notOurs(url: string, status: number): Finding {
  const found = `${url} answered ${status}, but not as a Big Peer does`;
  return { check: "server", verdict: "fault", found, fix: "check the address and the port" };
}

function versionFindings(version: string | undefined): Finding[] {
  if (version === undefined) return [];
  if (version === VERSION) return [{ check: "version", verdict: "ok", found: version }];
  const found = `the server has ${version}, this command ${VERSION}`;
  return [{ check: "version", verdict: "note", found, fix: "use the same version of both" }];
}

async function keyFindings(addresses: Addresses, host: Call["host"]): Promise<Finding[]> {
  if (addresses.key === undefined) return [];
  const check = "key";
  try {
    const client = dataClient(addresses, host);
    const { transactionId } = await client.execute("SELECT 1 AS one FROM system:dual");
    const found = `accepted, transaction ${transactionId}`;
    return [{ check, verdict: "ok", found }, ...(await rightsFindings(addresses, host))];
  } catch (error) {
    const fix = `set ${VARIABLES.key} to a valid key; bigpeer key create makes one`;
    return [{ check, verdict: "fault", found: reasonOf(error), fix }];
  }
}

async function rightsFindings(addresses: Addresses, host: Call["host"]): Promise<Finding[]> {
  try {
    const { peers } = await dataClient(addresses, host).peers({ limit: 1 });
    const found = peers.length === 0 ? "no peer is connected" : "peers are connected";
    return [{ check: "peers", verdict: "ok", found }];
  } catch (error) {
    return [{ check: "peers", verdict: "note", found: reasonOf(error) }];
  }
}

async function managementFindings(addresses: Addresses, { host }: Call): Promise<Finding[]> {
  if (addresses.managementUrl === undefined) {
    const found = "its address is not known";
    const fix = `only app, key, provider, replication, webhook and sink need it: ${VARIABLES.managementUrl}`;
    return [{ check: "management", verdict: "note", found, fix }];
  }
  try {
    const { management } = managementClient(addresses, host);
    const { data } = await management.listApps({ retries: 1 });
    return [{ check: "management", verdict: "ok", found: `answers, apps ${data.length}` }];
  } catch (error) {
    const fix = `check ${VARIABLES.managementUrl} and ${VARIABLES.adminToken}`;
    // One that was found by itself is not asked for: most commands do without it.
    const verdict = addresses.managementUrl.isGiven ? "fault" : "note";
    return [{ check: "management", verdict, found: reasonOf(error), fix }];
  }
}
