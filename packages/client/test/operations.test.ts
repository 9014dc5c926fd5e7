/**
 * Every operation of both APIs, called through the client on a real server.
 */

import { expect, test } from "vitest";
import { BigPeerError } from "../src/error.ts";
import { OPERATION_IDS, RunningServer } from "./support/running-server.ts";

const server = await RunningServer.start();
const client = server.client();
const { management } = client;

interface Car {
  readonly _id: string;
  readonly color: string;
  readonly mileage: number;
}

/** The error of a call that must fail. */
async function errorOf(call: Promise<unknown>): Promise<BigPeerError> {
  const error = await call.then(
    () => new Error("expected an error"),
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(BigPeerError);
  return error as BigPeerError;
}

test("documents are written, found, counted and read", async () => {
  const car: Car = { _id: "c1", color: "blue", mileage: 100 };
  const inserted = await client.execute("INSERT INTO cars DOCUMENTS (:car)", { car });
  expect(inserted).toMatchObject({ queryType: "mutation", mutatedDocumentIds: ["c1"] });
  const { results } = await client.write([
    { method: "upsert", collection: "cars", id: "c2", value: { color: "red", mileage: 7 } },
    { method: "remove", collection: "cars", query: "color == :c", args: { c: "green" } },
  ]);
  expect(results).toEqual([
    { method: "upsert", transactionId: inserted.transactionId + 1 },
    expect.objectContaining({ method: "remove", deleted: 0 }),
  ]);
  const { items } = await client.execute<Car>("SELECT * FROM cars WHERE color = :c", { c: "blue" });
  expect(items).toEqual([car]);
  const sort = [{ property: "mileage", direction: "desc" } as const];
  const found = await client.find<Omit<Car, "_id">>({ collection: "cars", query: "true", sort });
  expect(found.documents.map(({ id, fields }) => [id, fields.mileage])).toEqual([
    ["c1", 100],
    ["c2", 7],
  ]);
  expect((await client.count({ collection: "cars", query: "mileage > 50" })).count).toBe(1);
  const one = await client.findById<Car>({ collection: "cars", id: "c1" });
  expect(one.fields?.color).toBe("blue");
  expect((await client.findById({ collection: "cars", id: "c9" })).fields).toBeNull();
});

test("changes are followed, and a ticket stands for the credential", async () => {
  await client.execute("INSERT INTO followed DOCUMENTS (:d)", { d: { _id: "f1" } });
  for await (const { type, id } of client.changes({ collection: "followed", since: "0" })) {
    expect([type, id]).toEqual(["insert", "f1"]);
    break;
  }
  expect(await client.changesTicket()).toMatch(/^[\w-]{43}$/);
});

test("a collection is exported as lines", async () => {
  await client.execute("INSERT INTO bikes DOCUMENTS ({'_id': 'b1', 'gears': 7})");
  const lines = await client.export({ collection: "bikes", types: "false" });
  expect(await new Response(lines).text()).toBe('{"_id":"b1","gears":7}\n');
});

test("numbers of 64 bits survive, and binary is text in answers", async () => {
  const big = 2n ** 60n + 1n;
  await client.execute("INSERT INTO numbers DOCUMENTS (:d)", { d: { _id: "n", big } });
  const { items } = await client.execute<{ big: bigint }>("SELECT big FROM numbers");
  expect(items).toEqual([{ big }]);
  const args = { d: { _id: "b", photo: new Uint8Array(3) } };
  const error = await errorOf(client.execute("INSERT INTO numbers DOCUMENTS (:d)", args));
  expect([error.code, error.at]).toEqual(["value.invalid", "args.d.photo"]);
});

test("a read may have a long answer, also under a key", async () => {
  const text = "x".repeat(700_000);
  for (const id of ["a", "b", "c"]) {
    await client.execute("INSERT INTO texts DOCUMENTS (:d)", { d: { _id: id, text } });
  }
  const { items } = await client.execute<{ text: string }>("SELECT text FROM texts");
  expect(items.map((item) => item.text.length)).toEqual([700_000, 700_000, 700_000]);
  const returning = "UPDATE texts SET n = 1 RETURNING *";
  expect((await errorOf(client.execute(returning))).code).toBe("idempotency.too_large");
  const changed = await client.execute(returning, {}, { idempotencyKey: null });
  expect(changed.mutatedDocumentIds).toHaveLength(3);
});

test("connected peers are listed, explained and asked", async () => {
  expect(await client.peers({ limit: 10 })).toEqual({ peers: [] });
  const { items } = await client.explain({ collection: "cars", id: "c1", peer: "pk-nobody" });
  expect(items).toHaveLength(1);
  const remote = await client.remoteExecute("SYNC CONTEXT ( PEERS ) SELECT * FROM cars");
  expect(remote).toEqual({ result: [] });
});

test("a login gives a key", async () => {
  const request = { provider: "development", token: server.developmentToken };
  const session = await client.login(server.appId, request);
  const user = server.client({ key: async () => session.accessToken, appId: server.appId });
  expect((await user.execute("SELECT * FROM cars")).queryType).toBe("select");
  const wrong = { provider: "development", token: "wrong" };
  const error = await errorOf(client.login(server.appId, wrong));
  expect([error.status, error.code]).toEqual([401, "http.401"]);
});

test("attachments are uploaded, and downloaded whole, in part and as a stream", async () => {
  const { attachments } = client;
  const bytes = crypto.getRandomValues(new Uint8Array(50_000));
  const { id, len } = await attachments.upload(bytes);
  expect(len).toBe(bytes.length);
  expect(await attachments.upload(new Blob([bytes]))).toEqual({ id, len });
  expect(await attachments.download(id)).toEqual(bytes);
  expect(await attachments.download(id, { start: 10, end: 20 })).toEqual(bytes.slice(10, 20));
  expect(await attachments.download(id, { start: 49_990 })).toEqual(bytes.slice(49_990));
  const chunks: Uint8Array[] = [];
  for await (const chunk of await attachments.stream(id)) chunks.push(chunk);
  expect(Buffer.concat(chunks).equals(bytes)).toBe(true);
  expect(await attachments.size(id)).toBe(len);
  const absent = (await attachments.upload("")).id;
  expect(await attachments.size(absent)).toBe(0);
  const other = `${id.slice(0, -1)}${id.endsWith("A") ? "E" : "A"}`;
  expect(await attachments.size(other)).toBeUndefined();
  expect((await errorOf(attachments.download(other))).status).toBe(404);
});

test("an attachment is uploaded in parts, and one that is there need not be sent", async () => {
  const { attachments } = client;
  const bytes = crypto.getRandomValues(new Uint8Array(1000));
  const digest = await crypto.subtle.digest("SHA-256", bytes);
  const id = Buffer.from(digest).toString("base64url");
  const len = bytes.length;
  expect(await attachments.beginUpload(id, len)).toEqual({ id, len, offset: 0 });
  const first = await attachments.continueUpload(id, bytes.slice(0, 400), { offset: 0, len });
  expect(first).toEqual({ id, len, offset: 400 });
  const again = attachments.continueUpload(id, bytes.slice(0, 400), { offset: 0, len });
  expect((await errorOf(again)).status).toBe(409);
  expect((await attachments.beginUpload(id, len)).offset).toBe(400);
  const rest = new Blob([bytes.slice(400)]);
  const last = await attachments.continueUpload(id, rest, { offset: 400, len });
  expect(last).toEqual({ id, len, offset: len });
  expect(await attachments.beginUpload(id, len)).toEqual({ id, len, offset: len });
  expect(await attachments.download(id)).toEqual(bytes);
});

test("a stream ends with the signal of its call", async () => {
  const { id } = await client.attachments.upload(new Uint8Array(20_000_000));
  const ending = new AbortController();
  const stream = await client.attachments.stream(id, { signal: ending.signal });
  const reader = stream.getReader();
  await reader.read();
  ending.abort(new Error("enough"));
  const rest = async (): Promise<void> => {
    while (!(await reader.read()).done);
  };
  await expect(rest()).rejects.toThrow("enough");
});

test("apps, their keys and their settings are managed", async () => {
  const { appId } = await management.createApp({ name: "shop" });
  expect((await management.listApps()).data).toContainEqual({ name: "shop", appId });
  expect((await management.listApps({ page: 2, size: 1 })).meta).toEqual({
    page: 2,
    size: 1,
    totalPages: 2,
  });
  const app = await management.getApp("shop");
  expect(await management.replaceApp("shop", app)).toEqual(app);
  expect(await management.updateApp("shop", { authProviders: {} })).toEqual(app);

  const permissions = { read: { everything: true }, write: { everything: true } };
  const text = await management.createApiKey("shop", { name: "till", permissions });
  const till = server.client({ key: text });
  expect((await till.execute("SELECT * FROM cars")).items).toEqual([]);
  const key = await management.getApiKey("shop", "till");
  expect((await management.listApiKeys("shop")).data).toHaveLength(1);
  expect(await management.replaceApiKey("shop", "till", key)).toMatchObject({ name: "till" });
  expect(await management.rotateApiKey("shop", "till")).not.toBe(text);
  expect(await management.rotateApiKey("shop", "till", { graceSeconds: 5 })).toMatch(/^bp_/);
  expect(await management.deleteApiKey("shop", "till")).toBeNull();

  const settings = await management.getSettings("shop");
  expect(await management.replaceSettings("shop", settings)).toEqual(settings);
  expect(await management.updateSettings("shop", { strictV4: true })).toEqual({
    ...settings,
    strictV4: true,
  });
  expect(await management.rotateSessionKey("shop")).toBeNull();

  expect(await management.deleteApp("shop")).toBeNull();
  expect((await management.listDeletedApps()).data).toMatchObject([{ name: "shop", appId }]);
  expect(await management.restoreApp(appId)).toMatchObject({ name: "shop" });
});

test("providers and replications are managed", async () => {
  await management.createApp({ name: "branch" });
  const config = { type: "tokenWebhook", webhookUrl: "https://shop.example.com/login" };
  const made = await management.createProvider("branch", { name: "staff", config });
  expect(Object.keys(made.authProviders)).toEqual(["staff"]);
  const provider = await management.getProvider("branch", "staff");
  expect((await management.listProviders("branch")).data).toEqual([provider]);
  expect(await management.replaceProvider("branch", "staff", provider)).toEqual(provider);
  expect(await management.createWebhookSecret("branch", "staff")).toHaveLength(172);
  expect(await management.deleteProvider("branch", "staff")).toBeNull();
  await management.createProvider("branch", { name: "a&b?", config });
  expect(await management.deleteProviderByPost("branch", "a&b?")).toBeNull();

  const name = "from-north";
  const replication = await management.createReplication("branch", { name });
  expect((await management.listReplications("branch")).data).toEqual([replication]);
  const connections = ["north.example.com:4040"];
  const changed = await management.updateReplication("branch", name, { connections });
  expect(changed).toEqual({ ...replication, connections });
  expect(await management.replaceReplication("branch", name, changed)).toEqual(changed);
  expect(await management.getReplication("branch", name)).toEqual(changed);
  expect((await management.getReplicationStatus("branch", name)).links).toHaveLength(1);
  const secret = { secret: "a-long-secret-of-both-sides" };
  expect(await management.setReplicationSecret("branch", secret)).toBeNull();
  expect(await management.deleteReplicationSecret("branch")).toBeNull();
  expect(await management.deleteReplication("branch", name)).toBeNull();
});

test.each(["webhook", "sink"] as const)("each %s is managed", async (kind) => {
  const app = `with-${kind}s`;
  await management.createApp({ name: app });
  const name = "orders";
  // Nothing listens there.
  const target = { url: "http://127.0.0.1:1/", allowPrivate: true };
  const servers = { servers: ["nats://127.0.0.1:1"] };
  const given = { name, collection: "orders" };
  const all = kind === "webhook" ? management.webhooks : management.sinks;
  const made =
    kind === "webhook"
      ? await management.webhooks.create(app, { ...given, ...target })
      : await management.sinks.create(app, { ...given, ...servers });
  expect(made).toMatchObject(given);
  expect("secret" in made).toBe(kind === "webhook");
  const shown = await all.get(app, name);
  expect((await all.list(app)).data).toEqual([shown]);
  const changed = await all.update(app, name, { query: "total > 5" });
  expect(changed).toEqual({ ...shown, query: "total > 5" });
  expect(await all.pause(app, name)).toEqual({ ...changed, isPaused: true });
  expect(await all.status(app, name)).toMatchObject({ state: "paused", reason: "operator" });
  expect(await all.resume(app, name, { from: "now" })).toEqual(changed);
  expect((await all.listDeadLetters(app, name)).data).toEqual([]);
  expect(await all.retry(app, name)).toEqual({ delivered: 0, left: 0, error: null });
  const absent = "DeadLetterNotFound";
  expect((await errorOf(all.getDeadLetter(app, name, "1"))).code).toBe(absent);
  expect((await errorOf(all.retryDeadLetter(app, name, "1"))).code).toBe(absent);
  expect((await errorOf(all.deleteDeadLetter(app, name, "1"))).code).toBe(absent);
  expect(await all.delete(app, name)).toBeNull();
});

test("audit logs and the cluster are read", async () => {
  const { data } = await management.listAuditEntries({ size: 2 });
  expect(data.map(({ actor }) => actor)).toEqual(["admin token", "admin token"]);
  expect((await management.listRemoteAuditEntries({ size: 5 })).data).toEqual([]);
  expect(await management.getCluster()).toEqual({ cluster: null, nodes: [] });
});

test("errors have the code of the product, the status and the place", async () => {
  const syntax = await errorOf(client.execute("SELECT * FORM cars"));
  expect(syntax).toMatchObject({
    code: "query.syntax",
    status: 400,
    at: "line 1, column 10",
    place: { line: 1, column: 10 },
    requestId: expect.any(String),
    attempts: 1,
    idempotencyKey: expect.any(String),
  });
  expect(syntax.message).toContain('expected FROM, found "FORM"');
  expect(syntax.message).not.toContain("query.syntax");
  const unknown = await errorOf(client.count({ collection: "carz", query: "true" }));
  expect([unknown.code, unknown.status]).toEqual(["query.collection", 400]);
  const command = { method: "update", collection: "cars", query: "tru ==", commands: [] } as const;
  expect((await errorOf(client.write([command]))).status).toBe(400);
  const limit = { collection: "cars", query: "true", limit: -1 };
  expect(await errorOf(client.find(limit))).toMatchObject({ code: "value.invalid", at: "limit" });
  const stranger = server.client({ key: "bp_00000000_wrong" });
  expect((await errorOf(stranger.execute("SELECT * FROM cars"))).code).toBe("http.401");
});

test("errors of the management API have its titles", async () => {
  const absent = await errorOf(management.getApp("nothing"));
  expect([absent.code, absent.status]).toEqual(["AppNotFound", 404]);
  const taken = await errorOf(management.createApp({ name: "default" }));
  expect([taken.code, taken.status]).toEqual(["AppNameNotUnique", 409]);
  const odd = { name: "odd", colour: "blue" };
  expect(await errorOf(management.createApp(odd))).toMatchObject({
    code: "InvalidRequest",
    at: "colour",
  });
  const guest = server.client({ adminToken: undefined });
  expect((await errorOf(guest.management.listApps())).code).toBe("Unauthorized");
  const elsewhere = server.client({ bigPeer: "other" });
  expect((await errorOf(elsewhere.management.listApps())).code).toBe("BigPeerNotFound");
});

test("options that cannot work are refused at once", () => {
  expect(() => server.client({ url: "peer.example.com:8080" })).toThrow(/option url/);
  expect(() => server.client({ url: "" })).toThrow(/option url/);
  expect(() => server.client({ managementUrl: undefined }).management).toThrow(/managementUrl/);
});

test("read your own writes: the newest transaction is carried along on request", async () => {
  const writer = server.client({ readYourWrites: true });
  const headerOfLast = (): string | null =>
    server.sent.at(-1)?.headers.get("x-service-txn-id") ?? null;
  await writer.execute("SELECT * FROM cars");
  expect(headerOfLast()).toBeNull();
  const { transactionId } = await writer.execute("INSERT INTO cars DOCUMENTS ({'_id': 'w'})");
  expect(writer.lastTxnId).toBe(transactionId);
  await writer.findById({ collection: "cars", id: "w" });
  expect(headerOfLast()).toBe(String(transactionId));
  await writer.find({ collection: "cars", query: "true" }, { readYourWrites: false });
  expect(headerOfLast()).toBeNull();

  const reader = server.client();
  await reader.count({ collection: "cars", query: "true" }, { txnId: transactionId });
  expect(headerOfLast()).toBe(String(transactionId));
  await reader.count({ collection: "cars", query: "true" });
  expect(headerOfLast()).toBeNull();
  const late = { txnId: transactionId + 1000 };
  expect((await errorOf(reader.execute("SELECT * FROM cars", {}, late))).status).toBe(404);
});

/** The console calls these itself: sessions of browsers, data without a key, and what pages show. */
const OF_CONSOLE =
  /^(?:app_\w+|sign_\w+|\w+_console_\w+|list_statement_audit_entries|list_collections|try_permissions|test_provider|get_overview|list_read_settings|get_health|get_metrics|\w+_backups?)$/;

test("every operation of both documents was called", () => {
  const called = new Set(server.sent.map(({ operation }) => operation));
  expect(OPERATION_IDS.length).toBeGreaterThan(45);
  const ids = OPERATION_IDS.filter((id) => !OF_CONSOLE.test(id));
  expect(ids.filter((id) => !called.has(id))).toEqual([]);
});
