/**
 * `bigpeer webhook` and `bigpeer sink` against a real server and a real receiver.
 */

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, test, vi } from "vitest";
import { temporaryFolder } from "../../../node/test/support/temporary-folder.ts";
import { PATIENCE, WebhookReceiver } from "../../../server/test/support/webhook-receiver.ts";
import { startTestServer, type TestServer } from "../support/run-bigpeer.ts";

let server: TestServer;

beforeAll(async () => {
  server = await startTestServer({ deliveryAttempts: 1 });
});

async function json(words: readonly string[]): Promise<unknown> {
  const { code, stdout, stderr } = await server.run(words);
  expect({ words, code, stderr }).toMatchObject({ code: 0 });
  return JSON.parse(stdout) as unknown;
}

async function put(collection: string, id: string): Promise<void> {
  const statement = `INSERT INTO ${collection} DOCUMENTS ({'_id': '${id}'})`;
  expect(await server.run(["query", statement])).toMatchObject({ code: 0 });
}

async function untilStatus(name: string, expected: object): Promise<void> {
  await vi.waitFor(async () => {
    expect(await json(["webhook", "status", name])).toMatchObject(expected);
  }, PATIENCE);
}

test("a webhook is created, listed, shown, changed, paused, resumed and deleted, and delivers", async () => {
  const receiver = await WebhookReceiver.start();
  const words = ["webhook", "create", "orders", receiver.url, "--collection", "orders"];
  const created = await server.run([...words, "--allow-private", "--events", "insert, update"]);
  expect(created.stderr).toContain("the secret is not shown again");
  const { secret } = JSON.parse(created.stdout) as { secret: string };
  expect(secret).toMatch(/^whsec_/);
  receiver.secret = secret;
  await put("orders", "a");
  await receiver.holds(["a"]);

  const listed = await json(["webhook", "list"]);
  expect(listed).toMatchObject([{ name: "orders", url: receiver.url, allowPrivate: true }]);
  const env = { ...server.env, NO_COLOR: "1" };
  const table = await server.run(["webhook", "list"], { isTerminal: true, env });
  expect(table.stdout).toMatch(/^orders +http\S+ +orders +null +insert, update +false$/m);
  const shown = await server.run(["webhook", "show", "orders"]);
  expect(shown.stdout).not.toContain(secret);
  const changed = ["webhook", "update", "orders", '{"events": null}', "--query", "n > 1"];
  expect(await json(changed)).toMatchObject({ query: "n > 1", url: receiver.url });
  expect(await json(["webhook", "update", "orders", '{"query": null}'])).toMatchObject({
    query: null,
    events: ["insert", "update", "delete", "leave"],
  });

  expect(await json(["webhook", "pause", "orders"])).toMatchObject({ isPaused: true });
  await untilStatus("orders", { state: "paused", reason: "operator" });
  const advice = await server.run(["webhook", "status", "orders"]);
  expect(advice.stderr).toBe("webhook orders is paused: resume orders continues\n");
  await put("orders", "b");
  expect(await json(["webhook", "resume", "orders"])).toMatchObject({ isPaused: false });
  await receiver.holds(["a", "b"]);
  await untilStatus("orders", { state: "live", deadLetters: 0 });
  const all = await server.run(["webhook", "status"], { isTerminal: true, env });
  expect(all.stdout).toMatch(/^orders +live +/m);

  expect(await server.run(["webhook", "delete", "orders"])).toMatchObject({ code: 2, stdout: "" });
  expect(await server.run(["webhook", "delete", "orders", "--yes"])).toMatchObject({ code: 0 });
  expect(await server.run(["webhook", "show", "orders"])).toMatchObject({ code: 1, stdout: "" });
});

test("dead letters are listed, shown, sent again and discarded", async () => {
  const receiver = await WebhookReceiver.start();
  const folder = temporaryFolder();
  const secret = `whsec_${Buffer.alloc(24, 7).toString("base64")}`;
  receiver.secret = secret;
  writeFileSync(join(folder, "secret.txt"), `${secret}\n`);
  const config = { url: receiver.url, collection: "mails", allowPrivate: true };
  writeFileSync(join(folder, "webhook.json"), JSON.stringify(config));
  const words = ["webhook", "create", "mails", "@webhook.json", "--secret", "@secret.txt"];
  expect(await server.run(words, { folder })).toMatchObject({ code: 0 });
  receiver.behaviour = () => 500;
  await put("mails", "m1");
  await untilStatus("mails", { deadLetters: 1 });
  await put("mails", "m2");
  await untilStatus("mails", { deadLetters: 2 });

  const letters = (await json(["webhook", "dead-letters", "mails"])) as { id: string }[];
  expect(letters).toMatchObject([{ changes: 1 }, { changes: 1 }]);
  const [first = { id: "" }, second = { id: "" }] = letters;
  const whole = await json(["webhook", "dead-letters", "mails", first.id]);
  expect(JSON.stringify(whole)).toContain('"m1"');
  const failed = await server.run(["webhook", "resend", "mails"]);
  expect(failed.code).toBe(1);
  expect(JSON.parse(failed.stdout)).toMatchObject({ delivered: 0, left: 2 });

  receiver.behaviour = () => 204;
  const discarded = await server.run(["webhook", "discard", "mails", second.id, "--yes"]);
  expect(discarded).toMatchObject({ code: 0, stdout: "" });
  const resent = await json(["webhook", "resend", "mails", first.id]);
  expect(resent).toMatchObject({ delivered: 1, left: 0, error: null });
  await receiver.holds(["m1"]);
  expect(await json(["webhook", "dead-letters", "mails"])).toEqual([]);
  expect(await json(["webhook", "resend", "mails"])).toMatchObject({ delivered: 0, left: 0 });
});

test("a sink has the same commands and shows no password", async () => {
  const words = ["sink", "create", "orders", "nats://127.0.0.1:1", "--collection", "orders"];
  const login = ["--user", "ada", "--password", "a-password", "--subject", "orders.{type}"];
  const created = await server.run([...words, ...login]);
  expect(created).toMatchObject({ code: 0, stderr: "" });
  expect(created.stdout).not.toContain("a-password");
  expect(JSON.parse(created.stdout)).toMatchObject({
    servers: ["nats://127.0.0.1:1"],
    subject: "orders.{type}",
    user: "ada",
  });
  const { stdout } = await server.run(["sink", "list"], { isTerminal: true });
  expect(stdout).toContain("nats://127.0.0.1:1");
  expect(await json(["sink", "pause", "orders"])).toMatchObject({ isPaused: true });
  expect(await json(["sink", "resume", "orders", "--from", "now"])).toMatchObject({
    isPaused: false,
  });
  expect(await json(["sink", "status", "orders"])).toMatchObject({ name: "orders" });
  expect(await server.run(["sink", "delete", "orders", "--yes"])).toMatchObject({ code: 0 });
  expect(await json(["sink", "list"])).toEqual([]);
});

test.each([
  [["webhook", "create", "x", "not a url", "--collection", "c"], 1, "url"],
  [["webhook", "create", "x", '{"url": }'], 2, "config: expected"],
  [["webhook", "create", "x", "http://127.0.0.1:1/", "-c", "c", "--events", "some"], 1, "events"],
  [["webhook", "update", "x"], 2, "expected what to change"],
  [["webhook", "resume", "x", "--from", "here"], 2, "Allowed choices are position, now, oldest"],
  [["webhook", "status", "x"], 1, "x"],
  [["webhook", "resned"], 2, "Did you mean resend?"],
])("a wrong command is refused: %j", async (words, exitCode, message) => {
  const { code, stdout, stderr } = await server.run(words);
  expect({ code, stdout }).toEqual({ code: exitCode, stdout: "" });
  expect(stderr).toContain(message);
});
