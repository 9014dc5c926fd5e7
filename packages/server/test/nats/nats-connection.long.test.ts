/** The connection to real nats-servers: clear errors at the start, and it comes back afterwards. */

import { expect, onTestFinished, test, vi } from "vitest";
import { SYSTEM_USER } from "../../../../scripts/nats-cluster.mjs";
import { connectNats } from "../../src/nats/nats-connection.ts";
import { connectTo, useNatsCluster } from "../cluster/support/nats-cluster.ts";

const nats = useNatsCluster();

/** Answers come within milliseconds of each other. */
const SYSTEM_TIMING = { quietMs: 500, totalMs: 5_000 };

test("without a server there, the error names the address and what to check", async () => {
  const options = { servers: ["nats://user:secret@127.0.0.1:1"], name: "test", connectMsMax: 100 };
  await expect(connectNats(options)).rejects.toMatchObject({
    code: "config.invalid",
    message: expect.stringMatching(
      /^failed to connect to NATS at nats:\/\/127\.0\.0\.1:1 within 0\.1 seconds: .+; check that nats-server runs/,
    ),
  });
});

test("a wrong password is refused at once", async () => {
  const { urls: servers } = nats();
  const options = { servers, name: "test", user: "client", password: "wrong" };
  await expect(connectNats(options)).rejects.toMatchObject({
    code: "config.invalid",
    message: expect.stringContaining("refused the login"),
  });
});

test("a credentials file that cannot be read is named", async () => {
  const { urls: servers } = nats();
  const options = { servers, name: "test", credentialsFile: "/nowhere/a.creds" };
  await expect(connectNats(options)).rejects.toThrow("failed to read the NATS credentials");
});

test("TLS is not given up when the server has none", async () => {
  const { urls: servers } = nats();
  const options = { servers, name: "test", tls: {}, connectMsMax: 100 };
  await expect(connectNats(options)).rejects.toMatchObject({ code: "config.invalid" });
});

test("the connection moves to another server when its server ends", async () => {
  const connection = await connectTo(nats());
  const name = connection.server?.server_name;
  const server = nats().servers.find((each) => each.name === name);
  onTestFinished(() => nats().start());
  const lost = new Promise<void>((resolve) => {
    const stop = connection.onDisconnect(() => {
      stop();
      resolve();
    });
  });
  await server?.kill();
  await lost;
  await vi.waitFor(() => expect(connection.isConnected).toBe(true));
  expect(connection.server?.server_name).not.toBe(name);
});

test("a server that is down at the start is used later", async () => {
  const [first, ...others] = nats().servers;
  onTestFinished(() => nats().start());
  await first?.kill();
  const connection = await connectTo(nats());
  await first?.start();
  await Promise.all(others.map((server) => server.kill()));
  await vi.waitFor(() => expect(connection.server?.server_name).toBe(first?.name));
});

test("close resolves `closed`", async () => {
  const connection = await connectTo(nats());
  await connection.close();
  await connection.closed;
  expect(connection.isConnected).toBe(false);
});

test("a user and a password in an address are used, and are no part of it", async () => {
  const servers = (password: string): string[] =>
    nats().urls.map((url) => url.replace("//", `//${SYSTEM_USER.user}:${password}@`));
  const connection = await connectTo({ urls: servers(SYSTEM_USER.password) });
  const asked = await connection.requestAll("$SYS.REQ.SERVER.PING", SYSTEM_TIMING);
  let answers = 0;
  for await (const _ of asked) answers++;
  expect(answers).toBe(3);
  const wrong = connectNats({ servers: servers("12345"), name: "test" });
  await expect(wrong).rejects.toThrow("refused the login");
});
