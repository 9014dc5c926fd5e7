/**
 * Login: exchanges a token for a session of the server, by its HTTP API (docs/authentication.md).
 */

import type { SessionDetails } from "../options.ts";
import { DittoError } from "./ditto-error.ts";

const LOGIN_MS_MAX = 15_000;

export type LoginResult = {
  /** What the webhook of the provider sent for the client: a text, or JSON. */
  clientInfo: string | null;
  /** Null for a login that succeeded. */
  error: DittoError | null;
};

export interface LoginAnswer extends LoginResult {
  /** Undefined for a login that failed. */
  readonly session: SessionDetails | undefined;
}

export interface LoginRequest {
  readonly url: string;
  readonly appId: string;
  readonly token: string;
  readonly provider: string;
}

/** It does not reject: the answer has the error. */
export async function login({ url, appId, token, provider }: LoginRequest): Promise<LoginAnswer> {
  try {
    const response = await fetch(`${url}/${appId}/auth/login`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ provider, token }),
      signal: AbortSignal.timeout(LOGIN_MS_MAX),
    });
    const answer = (await response.json().catch(() => ({}))) as Record<string, unknown>;
    const clientInfo = textOf(answer["clientInfo"]);
    const { accessToken, accessExpiry, userId } = answer;
    if (!response.ok || typeof accessToken !== "string") {
      const said = typeof answer["message"] === "string" ? answer["message"] : "no reason given";
      return failed(`the login was refused (${response.status}): ${said}`, clientInfo);
    }
    const session: SessionDetails = {
      accessToken,
      ...(typeof accessExpiry === "string" && { accessExpiry }),
      ...(typeof userId === "string" && { userId }),
      date: response.headers.get("date") ?? undefined,
    };
    return { session, clientInfo, error: null };
  } catch (error) {
    const { cause, message } = error as { readonly cause?: unknown; readonly message?: string };
    const reason = cause instanceof Error && cause.message !== "" ? cause.message : message;
    return failed(`failed to log in at ${url}: ${reason}`, null, error);
  }
}

function failed(message: string, clientInfo: string | null, cause?: unknown): LoginAnswer {
  const code = "authentication/failed-to-authenticate";
  return { session: undefined, clientInfo, error: new DittoError(code, message, { cause }) };
}

function textOf(clientInfo: unknown): string | null {
  if (clientInfo === undefined || clientInfo === null) return null;
  return typeof clientInfo === "string" ? clientInfo : JSON.stringify(clientInfo);
}
