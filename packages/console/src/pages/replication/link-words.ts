/**
 * Replications as a form, and the states of their links in words.
 */
import { agoText } from "../../values/time-text.ts";

export interface Replication {
  readonly name: string;
  readonly connections: readonly string[];
  readonly queriesByCollection: Readonly<Record<string, readonly string[]>>;
  readonly attachments?: "onDemand" | "eager";
}

export interface LinkSubscription {
  readonly collection: string;
  readonly query: string;
  readonly state: "waiting" | "filling" | "live" | "behind" | "held";
  readonly transaction: number;
}

export interface Link {
  readonly direction: "dial" | "accept";
  readonly address: string;
  readonly state: "waiting" | "connecting" | "linked" | "duplicate" | "refused" | "no_secret";
  readonly since: string;
  readonly partner: string | null;
  readonly nextAttemptAt: string | null;
  readonly lastError: {
    readonly code: string;
    readonly message: string;
    readonly at: string;
  } | null;
  readonly lag: { readonly transactions: number | null; readonly seconds: number | null };
  readonly pulled: {
    readonly documents: number;
    readonly bytes: number;
    readonly unchanged: number;
    readonly stale: number;
  };
  readonly served: { readonly documents: number; readonly bytes: number };
  readonly subscriptions: readonly LinkSubscription[];
}

export interface ReplicationStatus {
  readonly name: string;
  readonly missingAttachments: number | null;
  readonly links: readonly Link[];
}

export interface LinkWords {
  readonly kind: "ok" | "busy" | "warn" | "err" | "idle";
  readonly text: string;
  /** What it means, and what to do. */
  readonly title: string;
}

export function linkWords(link: Link, nowMs: number): LinkWords {
  const { state, nextAttemptAt, lastError } = link;
  switch (state) {
    case "linked":
      return linkedWords(link);
    case "connecting":
      return {
        kind: "busy",
        text: "connecting",
        title: "The two servers authenticate each other.",
      };
    case "waiting": {
      const next =
        nextAttemptAt === null ? "" : ` Next attempt ${agoText(Date.parse(nextAttemptAt), nowMs)}.`;
      const cause = lastError === null ? "The server tries again." : `${lastError.message}.`;
      return {
        kind: lastError === null ? "busy" : "err",
        text: "waiting",
        title: `${cause}${next}`,
      };
    }
    case "duplicate":
      return {
        kind: "idle",
        text: "duplicate",
        title: "The two are linked already: the other side called.",
      };
    case "no_secret":
      return {
        kind: "err",
        text: "no secret",
        title: "There is no replication secret, so the server does not call. Set one for the app.",
      };
    default:
      return {
        kind: "err",
        text: "refused",
        title: lastError?.message ?? "This server refused the caller.",
      };
  }
}

function linkedWords({ subscriptions }: Link): LinkWords {
  const states = new Set(subscriptions.map(({ state }) => state));
  if (states.has("held")) {
    return {
      kind: "warn",
      text: "held",
      title: "A document is ahead of the clock of this machine. Check the clocks.",
    };
  }
  if (states.has("behind")) {
    return { kind: "warn", text: "behind", title: "This side does not read fast enough." };
  }
  if (states.has("filling") || states.has("waiting")) {
    return { kind: "busy", text: "filling", title: "The first transfer of a query runs." };
  }
  return { kind: "ok", text: "linked", title: "The link is up." };
}

/** Such as `cars: color == 'blue'`; `nothing` without queries. */
export function pulledText(queries: Replication["queriesByCollection"]): string {
  const parts = Object.entries(queries).map(([collection, all]) => {
    return all.includes("true") ? collection : `${collection}: ${all.join(" or ")}`;
  });
  return parts.length === 0 ? "nothing" : parts.join(", ");
}

export function addressesOf(text: string): string[] {
  return text.split(/[\s,]+/).filter((address) => address !== "");
}

const HOST_AND_PORT = /^(\[[0-9a-f:.]+\]|[^\s:[\]/]+):\d{1,5}$/i;

/** The first address that is none, before the server is asked. */
export function addressFault(text: string): string | undefined {
  const wrong = addressesOf(text).find((address) => !HOST_AND_PORT.test(address));
  return wrong === undefined ? undefined : `expected host:port, found ${wrong}`;
}
