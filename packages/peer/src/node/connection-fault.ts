/**
 * Connection faults of Node: why an attempt failed, in words, and whether a retry can help. A
 * server that cannot be reached may be back in a moment; a wrong address stays wrong.
 */

import type { ConnectionFault } from "../host/peer-host.ts";

/** Characters of an unknown server's answer that a message repeats. */
const SAID_SIZE_MAX = 300;

const UPGRADE_REQUIRED = 426;

/** Too early, too slow, too many: the next attempt may succeed. */
const TEMPORARY: readonly number[] = [408, 425, 429];

/** Codes of a TLS client whose server answered without TLS. */
const NO_TLS: readonly string[] = [
  "EPROTO",
  "ERR_SSL_WRONG_VERSION_NUMBER",
  "ERR_SSL_PACKET_LENGTH_TOO_LONG",
];

const UNKNOWN_CERTIFICATE: readonly string[] = [
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
];

/** An HTTP answer where a Big Peer was expected. */
export interface UnexpectedAnswer {
  readonly status: number | undefined;
  /** The header of a redirect. */
  readonly location?: string | undefined;
  readonly body?: string;
}

/** The fault of an answer that is not the upgrade to a WebSocket. */
export function faultOfAnswer(answer: UnexpectedAnswer, url: string): ConnectionFault {
  const { status = 0 } = answer;
  const said = saidIn(answer.body);
  const found = said === undefined ? `HTTP status ${status}` : `HTTP status ${status} (${said})`;
  const hint = hintOf(answer, said);
  const reason = `expected a Big Peer at ${url}, found ${found}${hint === undefined ? "" : `; ${hint}`}`;
  return { reason, isLasting: status < 500 && !TEMPORARY.includes(status) };
}

function hintOf({ status = 0, location }: UnexpectedAnswer, said = ""): string | undefined {
  // A 426 after a request for an upgrade means that something in between removed the headers.
  if (status === UPGRADE_REQUIRED) {
    return "does a proxy in between pass on WebSockets (the headers Upgrade and Connection)?";
  }
  if (status >= 300 && status < 400 && location !== undefined) {
    return `the server redirects to ${location.slice(0, SAID_SIZE_MAX)}, and a peer does not follow`;
  }
  // A management listener names the right address itself.
  if (status !== 404 || said.includes("the data API is")) return undefined;
  return "check the url: it is the address of the data API, without a path such as /api/v4";
}

/** The text of an error of a Big Peer: `message` in the data API, `detail` in management. */
export function saidIn(body: string | undefined): string | undefined {
  if (body === undefined) return undefined;
  try {
    const { message, detail } = (JSON.parse(body) ?? {}) as { message?: unknown; detail?: unknown };
    const said = message ?? detail;
    return typeof said === "string" && said !== "" ? said.slice(0, SAID_SIZE_MAX) : undefined;
  } catch {
    return undefined;
  }
}

/** The fault of an attempt that failed below HTTP. */
export function faultOfError(error: Error & { code?: unknown }, url: string): ConnectionFault {
  const code = typeof error.code === "string" ? error.code : "";
  // The text of the TLS library only names a place in its source.
  if (NO_TLS.includes(code)) {
    const hint = "if the server speaks http, not https, open the peer with an http URL";
    return { reason: `expected TLS at ${url}, found something else; ${hint}`, isLasting: true };
  }
  const reason = error.message === "" ? error.name : error.message;
  if (!UNKNOWN_CERTIFICATE.includes(code)) return { reason, isLasting: false };
  const hint = "set NODE_EXTRA_CA_CERTS to the file of its certificate authority";
  const expected = `expected a certificate that Node knows at ${url}`;
  return { reason: `${expected}, found another (${reason}); ${hint}`, isLasting: true };
}
