/**
 * Permissions, auth providers and webhooks as forms.
 */
import { expect, test } from "vitest";
import {
  changeBody,
  deliveryWords,
  destinationForm,
  NEW_DESTINATION,
  newBody,
} from "../src/pages/access/destination-form.ts";
import {
  formOf,
  isComplete,
  isSuspicious,
  type PermissionForm,
  type Permissions,
  permissionsOf,
  rowFaults,
  summaryOf,
  trialText,
  withoutCaller,
} from "../src/pages/access/permission-form.ts";
import {
  NEW_PROVIDER,
  providerConfig,
  providerForm,
  providerSummary,
} from "../src/pages/access/provider-form.ts";

const till: Permissions = {
  remoteQuery: true,
  read: { everything: false, queriesByCollection: { cars: ["a == 1", "b == 2"], parts: ["true"] } },
  write: { everything: true, queriesByCollection: {} },
};

test("permissions are the same after they were a form", () => {
  expect(permissionsOf(formOf(till))).toEqual(till);
  const nothing = { everything: false, queriesByCollection: {} };
  const none = { remoteQuery: false, read: nothing, write: nothing };
  expect(formOf(none).read.kind).toBe("nothing");
  expect(permissionsOf(formOf(none))).toEqual(none);
});

test("empty rows count as absent, and spaces at the ends do not count", () => {
  const rows = [
    { collection: "", query: " " },
    { collection: " cars ", query: " true " },
  ];
  const form: PermissionForm = {
    read: { kind: "queries", rows },
    write: { kind: "nothing", rows },
    remoteQuery: false,
  };
  expect(permissionsOf(form).read.queriesByCollection).toEqual({ cars: ["true"] });
  expect(permissionsOf(form).write.queriesByCollection).toEqual({});
  expect(isComplete(form)).toBe(true);
});

test("a row with one half is not complete, unless another kind is chosen", () => {
  expect(rowFaults({ collection: "cars", query: "" })?.query).toContain("expected a query");
  expect(rowFaults({ collection: "", query: "true" })?.collection).toBe("expected a collection");
  const rows = [{ collection: "cars", query: "" }];
  const nothing = { kind: "nothing", rows: [] } as const;
  const form = { read: { kind: "queries", rows }, write: nothing, remoteQuery: false } as const;
  expect(isComplete(form)).toBe(false);
  expect(isComplete({ ...form, read: { kind: "everything", rows } })).toBe(true);
});

test("permissions in one line", () => {
  expect(summaryOf(till)).toBe("reads some of 2 collections, writes everything, remote statements");
});

test("a trial says how many documents would be visible, and doubts none of many", () => {
  const trial = { collection: "orders", visible: 12, total: 40 };
  expect(trialText(trial, "visible")).toBe("12 of 40 would be visible");
  expect(isSuspicious(trial)).toBe(false);
  expect(isSuspicious({ ...trial, visible: 0 })).toBe(true);
  expect(isSuspicious({ ...trial, visible: 0, total: 0 })).toBe(false);
  expect(isSuspicious({ ...trial, visible: null })).toBe(true);
  const error = "it took too long (query.timeout)";
  expect(trialText({ ...trial, visible: null, error }, "visible")).toBe(error);
});

test("a provider keeps what the form does not show, and a secret that is left empty", () => {
  const before = {
    type: "jwt",
    issuer: "https://id.example/",
    audience: ["a", "b"],
    algorithms: ["HS256"],
    clockTolerance: 5,
    permission: till,
  } as const;
  const form = providerForm({ name: "users", config: before });
  expect(form.keySource).toBe("secret");
  expect(providerConfig(form, before)).toEqual(before);
  expect(providerConfig({ ...form, secret: "new" }, before)).toHaveProperty("secret", "new");
});

test("each type of provider has its own fields", () => {
  const anonymous = { ...NEW_PROVIDER, type: "anonymous", sharedToken: "open sesame" } as const;
  expect(Object.keys(providerConfig(anonymous))).toEqual([
    "type",
    "sharedToken",
    "sessionLength",
    "loopbackOnly",
    "permission",
  ]);
  const webhook = { ...NEW_PROVIDER, type: "tokenWebhook", webhookUrl: " https://a.b/ " } as const;
  expect(providerConfig(webhook)).toEqual({ type: "tokenWebhook", webhookUrl: "https://a.b/" });
  const keys = { ...NEW_PROVIDER, keySource: "jwks", jwks: "{" } as const;
  expect(() => providerConfig(keys)).toThrow("expected a key set in JSON");
  expect(providerSummary({ type: "jwt", issuer: "https://id.example/" })).toBe(
    "https://id.example/; permissions of the token",
  );
});

test("a webhook without optional fields sends none of them, and a secret only when it is typed", () => {
  const form = { ...NEW_DESTINATION, name: "orders", collection: "orders", url: "https://a.b/" };
  expect(newBody("webhook", form)).toEqual({
    name: "orders",
    collection: "orders",
    query: null,
    events: ["insert", "update", "delete", "leave"],
    url: "https://a.b/",
    allowPrivate: false,
  });
  const sink = { ...form, servers: "nats://a:1\nnats://b:2", events: ["leave", "insert"] } as const;
  expect(changeBody("sink", sink)).toEqual({
    collection: "orders",
    query: null,
    events: ["insert", "leave"],
    servers: ["nats://a:1", "nats://b:2"],
  });
});

test("a webhook is the same after it was a form", () => {
  const webhook = {
    name: "orders",
    collection: "orders",
    query: "isPaid == true",
    events: ["insert"],
    isPaused: false,
    url: "https://a.b/",
    allowPrivate: true,
  } as const;
  const { isPaused, ...content } = webhook;
  expect(newBody("webhook", destinationForm({ ...content, isPaused }))).toEqual(content);
});

const status = {
  name: "orders",
  reason: null,
  pausedAt: null,
  lag: { transactions: 0, seconds: 0 },
  attempts: 0,
  nextAttemptAt: null,
  lastDeliveryAt: null,
  lastError: null,
  delivered: { changes: 0, deliveries: 0 },
  failures: 0,
  deadLetters: 0,
};

test("the state of deliveries says why, and what to do", () => {
  expect(deliveryWords({ ...status, state: "live" }, 0)).toMatchObject({ kind: "ok" });
  const lastError = { message: "the receiver answered 500", status: 500, at: "" };
  const nextAttemptAt = "1970-01-01T00:01:00Z";
  const retrying = deliveryWords({ ...status, state: "retrying", lastError, nextAttemptAt }, 0);
  expect(retrying.title).toBe("the receiver answered 500; next attempt in 1 min");
  const again = deliveryWords({ ...status, state: "delivering", attempts: 1, lastError }, 0);
  expect([again.text, again.title]).toEqual(["retrying", "the receiver answered 500"]);
  expect(deliveryWords({ ...status, state: "delivering" }, 0).text).toBe("delivering");
  const gone = deliveryWords({ ...status, state: "paused", reason: "gone" }, 0);
  expect([gone.kind, gone.title]).toEqual([
    "warn",
    "the receiver answered 410 Gone; change the address, then resume",
  ]);
  expect(deliveryWords({ ...status, state: "paused", reason: "operator" }, 0).kind).toBe("idle");
});

test("queries that name the caller are left out of what is tried without one", () => {
  const queriesByCollection = {
    notes: ["owner == :userId", "isPublic == true"],
    tasks: ["team == :claims.team"],
    other: ["user == ':user'"],
  };
  const left = { notes: ["isPublic == true"], other: ["user == ':user'"] };
  const read = { everything: false, queriesByCollection };
  expect(withoutCaller({ ...till, read })).toEqual({
    ...till,
    read: { everything: false, queriesByCollection: left },
  });
});
