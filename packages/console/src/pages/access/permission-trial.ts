/**
 * Tries permissions against the documents of an app before they are saved: how many documents of
 * each collection they reach.
 */

import { parseExact, stringifyExact } from "@bigpeer/client/exact-json";
import type { Fields } from "../../api/execute.ts";
import { request } from "../../api/request.ts";
import { ofApp } from "../../api/session.ts";
import { useEffect, useState } from "../../kit/preact.ts";
import { type Loaded, useLoad } from "../../kit/use-load.ts";
import type { Permissions, Rule, Trial } from "./permission-form.ts";

export interface Trials {
  readonly read: readonly Trial[];
  readonly write: readonly Trial[];
}

/** The user that `:userId` and `:claims` stand for. */
export interface TrialCaller {
  readonly userId: string;
  readonly claims?: Fields;
}

const NOTHING: Rule = { everything: false, queriesByCollection: {} };

/** A query that is not valid throws, with its place. */
export async function tryPermissions(
  app: string,
  { read, write }: Permissions,
  caller: TrialCaller | undefined,
  signal?: AbortSignal,
): Promise<Trials> {
  const [readable, writable] = await Promise.all([
    tryRule(app, read, caller, signal),
    tryRule(app, write, caller, signal),
  ]);
  return { read: readable, write: writable };
}

async function tryRule(
  app: string,
  rule: Rule,
  caller: TrialCaller | undefined,
  signal?: AbortSignal,
): Promise<readonly Trial[]> {
  const collections = Object.keys(rule.queriesByCollection);
  if (rule.everything || collections.length === 0) return [];
  const permissions = { remoteQuery: false, read: rule, write: NOTHING };
  const answer = await request<{ readonly collections: readonly Trial[] }>(
    ofApp(app, "/permission/try"),
    {
      method: "POST",
      body: { permissions, collections, ...caller },
      ...(signal !== undefined && { signal }),
    },
  );
  return answer.collections;
}

/** Typing is over after this time. */
const PAUSE_MS = 400;

/** The trials of what is typed, a moment after the last change. */
export function useTrials(
  app: string,
  permissions: Permissions,
  caller: TrialCaller | undefined,
): Loaded<Trials> {
  const question = stringifyExact([permissions, caller ?? null]);
  const [settled, setSettled] = useState(question);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(question), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [question]);
  return useLoad(`${app} ${settled}`, (signal) => {
    const [asked, user] = parseExact(settled) as [Permissions, TrialCaller | null];
    return tryPermissions(app, asked, user ?? undefined, signal);
  });
}
