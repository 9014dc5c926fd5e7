/**
 * Links that are encrypted: who has no certificate that the other side trusts is not linked with.
 */

import { once } from "node:events";
import { copyFileSync } from "node:fs";
import { connect as connectPlain, type Socket } from "node:net";
import { join } from "node:path";
import { connect } from "node:tls";
import { expect, onTestFinished, test, vi } from "vitest";
import { temporaryFolder } from "../../../node/test/support/temporary-folder.ts";
import { isFullSize } from "../../../protocol/test/support/test-size.ts";
import type { TlsFiles } from "../../src/config/config.ts";
import { LinkedServer } from "../support/linked-server.ts";

const SUPPORT = join(import.meta.dirname, "../support");
const CERTIFICATE = join(SUPPORT, "tls-certificate.pem");
const OWN = { certFile: CERTIFICATE, keyFile: join(SUPPORT, "tls-key.pem"), caFile: CERTIFICATE };
const STRANGER = {
  certFile: join(SUPPORT, "tls-stranger-certificate.pem"),
  keyFile: join(SUPPORT, "tls-stranger-key.pem"),
};

const CAR = { _id: "1", color: "blue" };

async function linkTwo(
  northTls: TlsFiles | undefined,
  southTls: TlsFiles | undefined,
): Promise<[LinkedServer, LinkedServer]> {
  const north = await LinkedServer.start({ replicationTls: northTls });
  const south = await LinkedServer.start({ replicationTls: southTls });
  await north.put("cars", CAR);
  await north.replicate("POST", {});
  const queriesByCollection = { cars: ["true"] };
  await south.replicate("POST", { connections: [north.address], queriesByCollection });
  return [north, south];
}

/** Why the other side cannot be reached. */
async function errorOf(south: LinkedServer): Promise<string> {
  const error = await vi.waitFor(async () => {
    const [link] = await south.links();
    expect(link?.lastError?.code).toBe("unreachable");
    return link?.lastError;
  }, 10_000);
  expect(await south.all("cars")).toEqual([]);
  return error?.message ?? "";
}

test("with certificates that both sides trust, documents flow over TLS", async () => {
  const [north, south] = await linkTwo(OWN, OWN);
  expect(north.server.replicationUrl).toMatch(/^https:/);
  await south.holds("cars", [CAR]);
});

test.runIf(isFullSize)(
  "without a CA of its own a server asks no caller for a certificate",
  async () => {
    const { certFile, keyFile } = OWN;
    const [, south] = await linkTwo({ certFile, keyFile }, { ...STRANGER, caFile: CERTIFICATE });
    await south.holds("cars", [CAR]);
    expect((await south.links()).map(({ state }) => state)).toEqual(["linked"]);
  },
);

test.runIf(isFullSize)(
  "a certificate that the CA has not signed is refused, on either side",
  async () => {
    const [, dialling] = await linkTwo(OWN, { ...STRANGER, caFile: CERTIFICATE });
    // How the end of TLS shows depends on when it is noticed.
    expect(await errorOf(dialling)).toMatch(/alert|ECONNRESET|hang up|EPIPE/);
    const [, called] = await linkTwo({ ...STRANGER, caFile: STRANGER.certFile }, OWN);
    expect(await errorOf(called)).toContain("self-signed certificate");
  },
);

test("a certificate that is not for the dialled name is refused, whoever signed it", async () => {
  const north = await LinkedServer.start({ replicationTls: OWN, replicationHost: "0.0.0.0" });
  const south = await LinkedServer.start({ replicationTls: OWN });
  await north.put("cars", CAR);
  await north.replicate("POST", {});
  const port = north.address.split(":")[1] ?? "";
  await south.replicate("POST", {
    connections: [`127.0.0.2:${port}`],
    queriesByCollection: { cars: ["true"] },
  });
  expect(await errorOf(south)).toContain("IP: 127.0.0.2 is not in the cert's list");
});

test.runIf(isFullSize)(
  "callers that do not complete TLS are ended in favour of new ones, and links are not",
  async () => {
    const [north, south] = await linkTwo(OWN, OWN);
    await south.holds("cars", [CAR]);
    const before = await south.until("linked");
    const { hostname: host, port } = new URL(north.server.replicationUrl ?? "");
    const sockets: Socket[] = [];
    for (let i = 0; i < 510; i++) {
      const localAddress = `127.0.1.${1 + Math.floor(i / 60)}`;
      const socket = connectPlain({ host, port: Number(port), localAddress });
      onTestFinished(() => void socket.destroy());
      await once(socket.on("error", () => {}).resume(), "connect");
      sockets.push(socket);
    }
    const isOpen = ({ readableEnded, destroyed }: Socket): boolean => !readableEnded && !destroyed;
    await vi.waitFor(() => expect(sockets.filter(isOpen).length).toBe(500), 5_000);
    expect(sockets.slice(10).every(isOpen)).toBe(true);
    await north.put("cars", { ...CAR, color: "red" });
    await south.holds("cars", [{ ...CAR, color: "red" }]);
    expect((await south.until("linked")).since).toBe(before.since);
  },
);

test.runIf(isFullSize)(
  "a side with TLS and a side without are not linked, whichever dials",
  async () => {
    const [, plain] = await linkTwo(OWN, undefined);
    expect(await errorOf(plain)).toMatch(/hang up|ECONNRESET|EPIPE/);
    const [, encrypted] = await linkTwo(undefined, OWN);
    expect(await errorOf(encrypted)).not.toBe("");
  },
);

test("a client without a certificate does not reach HTTP", async () => {
  const north = await LinkedServer.start({ replicationTls: OWN });
  const { port } = new URL(north.server.replicationUrl ?? "");
  const socket = connect({ port: Number(port), host: "127.0.0.1", rejectUnauthorized: false });
  onTestFinished(() => void socket.destroy());
  let received = "";
  socket.on("data", (chunk: Buffer) => {
    received += chunk.toString();
  });
  const ended = new Promise<void>((resolve) => {
    socket.on("error", () => resolve()).on("close", () => resolve());
  });
  socket.write("GET /link HTTP/1.1\r\nHost: x\r\n\r\n");
  await ended;
  expect(received).toBe("");
});

test("changed files are reloaded on demand, and invalid ones are not used", async () => {
  const folder = temporaryFolder();
  const files = { certFile: join(folder, "cert.pem"), keyFile: join(folder, "key.pem") };
  copyFileSync(STRANGER.certFile, files.certFile);
  copyFileSync(STRANGER.keyFile, files.keyFile);
  const tls = { ...files, caFile: CERTIFICATE };
  const [north, south] = await linkTwo(OWN, tls);
  await errorOf(south);
  copyFileSync(OWN.certFile, files.certFile);
  south.server.reloadTls();
  expect(south.log.filter(({ level }) => level === "error").map(({ message }) => message)).toEqual([
    expect.stringContaining("links go on with the certificate before"),
    expect.stringContaining("failed to load the new certificate, the old one stays in use"),
  ]);
  copyFileSync(OWN.keyFile, files.keyFile);
  south.server.reloadTls();
  await south.holds("cars", [CAR]);
  expect((await north.links()).map(({ state }) => state)).toEqual(["linked"]);
});

test("invalid files are reported at the start", async () => {
  const broken = { ...OWN, caFile: OWN.keyFile };
  await expect(LinkedServer.start({ replicationTls: broken })).rejects.toThrow(
    `${OWN.keyFile}: expected a certificate in PEM`,
  );
});
