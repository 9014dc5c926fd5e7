/**
 * The session of the console: a console token or the admin token is exchanged for a cookie, which
 * scripts cannot read.
 */
import { type Signal, signal } from "../kit/preact.ts";
import { ApiError, isSessionLost, request } from "./request.ts";

export interface Session {
  readonly by: string;
  readonly expiresAt: string;
  /** Of all other paths, such as `/namespace/default/bigPeer/big-peer`. */
  readonly prefix: string;
  readonly name: string;
  readonly version: string;
  /** Address of the data API. */
  readonly dataUrl: string;
}

type SessionAnswer = ({ readonly isSignedIn: true } & Session) | { readonly isSignedIn: false };

const SESSION_PATH = "/console/session";
const TOKEN_IN_FRAGMENT = /^#token=(.+)$/;

/**
 * Undefined before the server has answered, null without a session. One that has ended stays, and
 * the pages with it, until the person signs in again: what was typed is not lost.
 */
export const session: Signal<Session | null | undefined> = signal(undefined);

/**
 * At the start of the page: signs in with the token in the address, if there is one, and removes it
 * from the address and the history at once. Otherwise continues the session of the cookie.
 */
export async function openSession(): Promise<void> {
  const token = takeToken();
  if (token !== undefined) return signIn(token);
  accept(await request<SessionAnswer>(SESSION_PATH));
}

export async function signIn(token: string): Promise<void> {
  accept(await request<SessionAnswer>(SESSION_PATH, { method: "POST", body: { token } }));
}

export async function signOut(): Promise<void> {
  try {
    await request(SESSION_PATH, { method: "DELETE" });
  } catch (error) {
    if (ApiError.from(error).status !== 401) throw error;
  }
  session.value = null;
}

/** A path of the management API, with the prefix of this server. */
export function managed(path: string): string {
  const current = session.value;
  if (current === null || current === undefined) throw new Error("there is no session");
  return `${current.prefix}${path}`;
}

/** A path of an app. */
export function ofApp(app: string, path: string): string {
  return managed(`/app/${encodeURIComponent(app)}${path}`);
}

function accept(answer: SessionAnswer): void {
  isSessionLost.value = false;
  session.value = answer.isSignedIn ? answer : null;
}

function takeToken(): string | undefined {
  const [, token] = TOKEN_IN_FRAGMENT.exec(location.hash) ?? [];
  if (token === undefined) return undefined;
  history.replaceState(history.state, "", location.pathname + location.search);
  return decodeURIComponent(token);
}
