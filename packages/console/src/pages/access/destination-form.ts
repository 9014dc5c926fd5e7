/**
 * Webhooks and sinks as a form, and the state of their deliveries in words.
 */
import { agoText } from "../../values/time-text.ts";

export type DestinationKind = "webhook" | "sink";

export const EVENTS = ["insert", "update", "delete", "leave"] as const;
export type EventName = (typeof EVENTS)[number];

export interface Destination {
  readonly name: string;
  readonly collection: string;
  readonly query: string | null;
  readonly events: readonly EventName[];
  readonly isPaused: boolean;
  /** Of a webhook. */
  readonly url?: string;
  readonly allowPrivate?: boolean;
  /** Of a sink. */
  readonly servers?: readonly string[];
  readonly subject?: string;
  readonly user?: string | null;
}

export interface DestinationForm {
  readonly name: string;
  readonly collection: string;
  readonly query: string;
  readonly events: readonly EventName[];
  readonly url: string;
  readonly allowPrivate: boolean;
  readonly secret: string;
  readonly servers: string;
  readonly subject: string;
  readonly user: string;
  readonly password: string;
  readonly token: string;
}

export const NEW_DESTINATION: DestinationForm = {
  name: "",
  collection: "",
  query: "",
  events: EVENTS,
  url: "",
  allowPrivate: false,
  secret: "",
  servers: "",
  subject: "",
  user: "",
  password: "",
  token: "",
};

export function destinationForm(destination: Destination): DestinationForm {
  const { name, collection, query, events, url, allowPrivate, servers, subject, user } =
    destination;
  return {
    ...NEW_DESTINATION,
    name,
    collection,
    query: query ?? "",
    events,
    url: url ?? "",
    allowPrivate: allowPrivate ?? false,
    servers: (servers ?? []).join("\n"),
    subject: subject ?? "",
    user: user ?? "",
  };
}

/** The body to create one. Empty optional fields are left out. */
export function newBody(kind: DestinationKind, form: DestinationForm): object {
  return { name: form.name.trim(), ...changeBody(kind, form) };
}

/** The body to change one. A secret that is left empty stays. */
export function changeBody(kind: DestinationKind, form: DestinationForm): object {
  const selection = {
    collection: form.collection.trim(),
    query: form.query.trim() === "" ? null : form.query.trim(),
    events: EVENTS.filter((event) => form.events.includes(event)),
  };
  if (kind === "webhook") {
    const { url, allowPrivate, secret } = form;
    return { ...selection, url: url.trim(), allowPrivate, ...given("secret", secret) };
  }
  const { subject, user, password, token } = form;
  return {
    ...selection,
    servers: form.servers.split(/[\s,]+/).filter((server) => server !== ""),
    ...given("subject", subject),
    ...given("user", user),
    ...given("password", password),
    ...given("token", token),
  };
}

function given(name: string, text: string): object {
  return text.trim() === "" ? {} : { [name]: text.trim() };
}

export interface DeliveryStatus {
  readonly name: string;
  readonly state: "starting" | "live" | "delivering" | "retrying" | "paused";
  readonly reason: keyof typeof PAUSE_REASONS | null;
  readonly pausedAt: string | null;
  readonly lag: { readonly transactions: number | null; readonly seconds: number };
  readonly attempts: number;
  readonly nextAttemptAt: string | null;
  readonly lastDeliveryAt: string | null;
  readonly lastError: {
    readonly message: string;
    readonly status: number | null;
    readonly at: string;
  } | null;
  readonly delivered: { readonly changes: number; readonly deliveries: number };
  readonly failures: number;
  readonly deadLetters: number;
}

/** A webhook or sink with its state; undefined if it was removed meanwhile. */
export interface WatchedDestination extends Destination {
  readonly status: DeliveryStatus | undefined;
}

const PAUSE_REASONS = {
  operator: "someone paused it",
  gone: "the receiver answered 410 Gone; change the address, then resume",
  dead_letters_full: "there are 1,000 dead letters; send or discard them, then resume",
  history_changed: "the app was restored or copied; read the rows again, then resume from now",
  log_trimmed: "the receiver was away too long for the log; resume from now or from the oldest",
} as const;

export interface DeliveryWords {
  readonly kind: "ok" | "busy" | "warn" | "err" | "idle";
  readonly text: string;
  /** Why it is in this state, and what to do. */
  readonly title: string;
}

export function deliveryWords(status: DeliveryStatus, nowMs: number): DeliveryWords {
  const { state, reason, nextAttemptAt, lastError } = status;
  switch (state) {
    case "live":
      return { kind: "ok", text: "live", title: "Everything is delivered." };
    case "starting":
    case "delivering":
      // Another attempt of the same delivery is under way.
      if (lastError !== null && status.attempts > 0) {
        return { kind: "err", text: "retrying", title: lastError.message };
      }
      return { kind: "busy", text: state, title: "A delivery is on the way." };
    case "retrying": {
      const next =
        nextAttemptAt === null ? "" : `; next attempt ${agoText(Date.parse(nextAttemptAt), nowMs)}`;
      return {
        kind: "err",
        text: "retrying",
        title: `${lastError?.message ?? "the last attempt failed"}${next}`,
      };
    }
    default: {
      const kind = reason === "operator" || reason === null ? "idle" : "warn";
      return {
        kind,
        text: "paused",
        title: reason === null ? "It is paused." : PAUSE_REASONS[reason],
      };
    }
  }
}
