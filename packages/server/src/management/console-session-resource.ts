/**
 * Console session resources: `/console/session` signs a browser in and out (M51), `/console/token`
 * makes a new link to the console (M54), and `…/consoleSession` lists the browsers that are signed
 * in.
 */

import { PeerError, type Value } from "@bigpeer/protocol";
import { VERSION } from "../config/version.ts";
import type { ConsoleSession } from "../registry/console-access.ts";
import { shown } from "../registry/registry-fault.ts";
import { showTime } from "../validation/time-text.ts";
import { signedInCookie, signedOutCookie } from "./console-cookie.ts";
import type { ManagementCall, Resource } from "./management-endpoint.ts";
import { pageBody } from "./page.ts";
import { Problem } from "./problem.ts";
import { checkSignIn } from "./schemas.ts";

export const CONSOLE_RESOURCES: readonly Resource[] = [
  {
    name: "console_session",
    path: "/console/session",
    isOutside: true,
    access: "page",
    methods: {
      GET: (call) => showSession(call, call.session),
      POST: signIn,
      DELETE: signOut,
    },
  },
  {
    name: "console_token",
    path: "/console/token",
    isOutside: true,
    access: "signedIn",
    methods: { POST: renewToken },
  },
  {
    name: "console_sessions",
    path: "/consoleSession",
    methods: {
      GET: (call) =>
        pageBody(call.registry.console.list(), call.query, (session) => ({
          id: session.id,
          by: session.by,
          createdAt: showTime(session.createdAt),
          expiresAt: showTime(session.expiresAt),
          address: session.address,
          isCurrent: session.id === call.session?.id,
        })),
    },
  },
  {
    name: "end_console_session",
    path: "/consoleSession/{session}",
    methods: { DELETE: endSession },
  },
];

async function signIn(call: ManagementCall): Promise<Value> {
  const { token } = await call.body(checkSignIn);
  const { console } = call.registry;
  const { request, author, host } = call;
  const by = host.gate.checkSignIn(request, token, console.isToken(token));
  const session = await console.signIn(token, by, { ...author, actor: by });
  call.setHeader("set-cookie", signedInCookie(request, session.text));
  return showSession(call, session);
}

async function signOut(call: ManagementCall): Promise<Value> {
  const { session, registry, author, request } = call;
  if (session !== undefined) await registry.console.signOut(session.id, author);
  call.setHeader("set-cookie", signedOutCookie(request));
  return null;
}

async function endSession(call: ManagementCall): Promise<Value> {
  const id = call.parameter("session");
  const { console } = call.registry;
  if (!console.list().some((session) => session.id === id)) {
    throw new Problem(
      "SessionNotFound",
      `there is no session of the console with the id ${shown(id)}`,
    );
  }
  await console.signOut(id, call.author);
  return null;
}

async function renewToken(call: ManagementCall): Promise<Value> {
  const consoleUrl = await call.host.consoleLink?.()?.renew(call.author);
  if (consoleUrl === undefined) {
    const message = "expected a server that is alone: in a cluster, sign in with the admin token";
    throw new PeerError("operation.refused", message);
  }
  call.setHeader("set-cookie", signedOutCookie(call.request));
  return { consoleUrl };
}

/** What a browser needs to know before its first request; nothing without a session (M5). */
function showSession(call: ManagementCall, session: ConsoleSession | undefined): Value {
  call.setHeader("cache-control", "no-store");
  if (session === undefined) return { isSignedIn: false };
  const { config, dataUrl } = call.host;
  const { namespace, name } = config;
  return {
    isSignedIn: true,
    by: session.by,
    expiresAt: showTime(session.expiresAt),
    namespace,
    name,
    prefix: `/namespace/${encodeURIComponent(namespace)}/bigPeer/${encodeURIComponent(name)}`,
    version: VERSION,
    dataUrl: dataUrl?.() ?? null,
  };
}
