/**
 * Server state: what the health endpoint and the system collections say about a server.
 */

import type { BigPeerClient } from "@bigpeer/client";

export interface Health {
  /** `ready`, `starting` or `closing`; undefined if the answer is not one of a Big Peer. */
  readonly status: string | undefined;
  readonly httpStatus: number;
  readonly elapsedMs: number;
}

const TIMEOUT_MS = 10_000;

/** Rejects with the error of fetch when there is no answer. */
export async function readHealth(url: string, signal: AbortSignal): Promise<Health> {
  const startMs = performance.now();
  const limit = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]);
  const response = await fetch(`${url.replace(/\/+$/, "")}/readyz`, { signal: limit });
  const text = await response.text();
  const elapsedMs = Math.round(performance.now() - startMs);
  return { status: fieldIn(text, "status"), httpStatus: response.status, elapsedMs };
}

function fieldIn(text: string, name: string): string | undefined {
  try {
    const value = (JSON.parse(text) as { readonly [name: string]: unknown })[name];
    return typeof value === "string" ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Version of the server, from its start page; undefined behind a proxy that does not show it. */
export async function readVersion(url: string, signal: AbortSignal): Promise<string | undefined> {
  const limit = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]);
  const headers = { accept: "application/json" };
  try {
    const response = await fetch(`${url.replace(/\/+$/, "")}/`, { headers, signal: limit });
    return fieldIn(await response.text(), "version");
  } catch {
    signal.throwIfAborted();
    return undefined;
  }
}

export async function readCollections(client: BigPeerClient): Promise<string[]> {
  const statement = "SELECT name FROM system:collections ORDER BY name";
  const { items } = await client.execute<{ name: string }>(statement);
  return items.map(({ name }) => name);
}

/** Number of connected peers, at most one page of them; undefined when the key may not list them. */
export async function countPeers(client: BigPeerClient): Promise<string | undefined> {
  try {
    const { peers, next } = await client.peers();
    return next === undefined ? String(peers.length) : `more than ${peers.length}`;
  } catch (error) {
    if ((error as { readonly status?: number }).status === 401) return undefined;
    throw error;
  }
}
