/**
 * Management texts of the console: signing in, sessions, and its link.
 */

import type { Value } from "@bigpeer/protocol";
import { type ManagementText, META } from "./management-text.ts";

const SIGNED_IN: Value = {
  isSignedIn: true,
  by: "console token",
  expiresAt: "2026-02-07T12:00:00.000Z",
  namespace: "default",
  name: "big-peer",
  prefix: "/namespace/default/bigPeer/big-peer",
  version: "1.0.0",
  dataUrl: "http://127.0.0.1:8080",
};

export const CONSOLE_TEXTS: readonly ManagementText[] = [
  {
    operationId: "get_console_session",
    method: "GET",
    path: "/console/session",
    isOutside: true,
    tag: "console",
    summary: "Read whether this browser is signed in",
    description: "Needs no credential, and says nothing about the server without one.",
    response: "Session",
    example: SIGNED_IN,
  },
  {
    operationId: "sign_in",
    method: "POST",
    path: "/console/session",
    isOutside: true,
    tag: "console",
    summary: "Sign a browser in",
    description: "The answer sets the cookie of the session. It counts as the admin.",
    request: "SignIn",
    requestExample: { token: "bpc_…" },
    response: "Session",
    example: SIGNED_IN,
  },
  {
    operationId: "sign_out",
    method: "DELETE",
    path: "/console/session",
    isOutside: true,
    tag: "console",
    summary: "Sign this browser out",
    response: "Done",
    example: null,
  },
  {
    operationId: "renew_console_token",
    method: "POST",
    path: "/console/token",
    isOutside: true,
    tag: "console",
    summary: "Make a new link to the console",
    description: "The former link does not work any more, and all sessions of the console end.",
    response: "ConsoleLink",
    example: { consoleUrl: "http://127.0.0.1:8081/#token=bpc_…" },
  },
  {
    operationId: "list_console_sessions",
    method: "GET",
    path: "/consoleSession",
    tag: "console",
    summary: "List the browsers that are signed in, newest first",
    response: "ConsoleSessionList",
    example: {
      data: [
        {
          id: "9f86d081…",
          by: "console token",
          createdAt: "2026-01-31T12:00:00.000Z",
          expiresAt: "2026-02-07T12:00:00.000Z",
          address: "127.0.0.1",
          isCurrent: true,
        },
      ],
      meta: META,
    },
    isList: true,
  },
  {
    operationId: "end_console_session",
    method: "DELETE",
    path: "/consoleSession/{session}",
    tag: "console",
    summary: "Sign another browser out",
    response: "Done",
    example: null,
  },
  {
    operationId: "list_statement_audit_entries",
    method: "GET",
    path: "/audit/statement",
    tag: "server",
    summary: "List uses of data by the console, newest first",
    description: "Always one page, by default of 100 entries.",
    response: "AuditEntryList",
    example: { data: [], meta: { page: 1, size: 100, totalPages: 1 } },
    isList: true,
  },
];
