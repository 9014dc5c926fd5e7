/**
 * Change request: reads the query of `GET /store/changes`. An unknown parameter is refused: a typing
 * error would otherwise change what the stream has.
 */

import type { ChangesRequest } from "@bigpeer/engine/changes";
import { isObject, PeerError, parseJson, type ValueObject } from "@bigpeer/protocol";
import { Refusal } from "../http/refusal.ts";
import { CHANGES_WAIT_S_MAX } from "../limits/limits.ts";

export interface ChangeRequest {
  readonly request: Omit<ChangesRequest, "authority">;
  /** How long to wait for a change; undefined for a stream without end. */
  readonly waitMs: number | undefined;
  readonly ticket: string | undefined;
}

const NAMES = [
  "collection",
  "query",
  "args",
  "since",
  "initial",
  "view",
  "wait",
  "ticket",
] as const;

type Name = (typeof NAMES)[number];

/** `lastEventId` is the header that a browser sends when it connects again. */
export function readChangeRequest(query: string, lastEventId: string | undefined): ChangeRequest {
  const given = readParameters(query);
  const since = lastEventId ?? given.since;
  return {
    request: {
      collection: given.collection,
      query: given.query,
      args: given.args === undefined ? undefined : readArgs(given.args),
      since,
      isInitial: readFlag(given.initial, "initial"),
      view: readView(given.view),
    },
    waitMs: given.wait === undefined ? undefined : readWait(given.wait),
    ticket: given.ticket,
  };
}

function readParameters(query: string): { readonly [name in Name]?: string } {
  const found: { [name in Name]?: string } = {};
  for (const [name, value] of new URLSearchParams(query)) {
    if (!isName(name)) {
      // The name and the value may be a secret: they are not repeated.
      const message = `expected only the parameters ${NAMES.join(", ")}, found another one`;
      const hint = "a key belongs in the header Authorization, never in a URL";
      throw new Refusal(400, `${message}; ${hint}`);
    }
    if (found[name] !== undefined) throw invalid(name, "it once");
    found[name] = value;
  }
  return found;
}

function isName(name: string): name is Name {
  return (NAMES as readonly string[]).includes(name);
}

function readArgs(text: string): ValueObject {
  try {
    const value = parseJson(text);
    if (isObject(value)) return value;
  } catch {
    // Not JSON either.
  }
  throw invalid("args", "a JSON object");
}

function readFlag(text: string | undefined, name: Name): boolean {
  if (text === undefined || text === "false") return false;
  if (text === "true") return true;
  throw invalid(name, "true or false");
}

function readView(text: string | undefined): "document" | "fields" {
  if (text === undefined || text === "document") return "document";
  if (text === "fields") return "fields";
  throw invalid("view", "document or fields");
}

function readWait(text: string): number {
  const seconds = /^\d+(\.\d+)?$/.test(text) ? Number(text) : Number.NaN;
  if (seconds >= 0 && seconds <= CHANGES_WAIT_S_MAX) return seconds * 1000;
  throw invalid("wait", `seconds from 0 to ${CHANGES_WAIT_S_MAX}`);
}

function invalid(name: Name, expected: string): PeerError {
  return new PeerError("value.invalid", `expected ${expected}`, { at: name });
}
