/**
 * HTTPS over real connections, and files that are not what they should be.
 */

import { generateKeyPairSync } from "node:crypto";
import { once } from "node:events";
import { copyFileSync, readFileSync, writeFileSync } from "node:fs";
import { request as sendRequest } from "node:https";
import { join } from "node:path";
import { connect, type TLSSocket } from "node:tls";
import { expect, onTestFinished, test, vi } from "vitest";
import { temporaryFolder } from "../../../node/test/support/temporary-folder.ts";
import type { TlsFiles } from "../../src/config/config.ts";
import { readTls } from "../../src/http/tls.ts";
import { connectTo, HEAD, listen, readAll, refuseAll } from "../support/http-listener.ts";

const SUPPORT = join(import.meta.dirname, "../support");
const CERTIFICATE = join(SUPPORT, "tls-certificate.pem");
const NEXT_CERTIFICATE = join(SUPPORT, "tls-certificate-next.pem");
const KEY = join(SUPPORT, "tls-key.pem");

/** The files in a folder of the test, where they may be changed. */
function copyFiles(): TlsFiles {
  const folder = temporaryFolder();
  const files = { certFile: join(folder, "cert.pem"), keyFile: join(folder, "key.pem") };
  copyFileSync(CERTIFICATE, files.certFile);
  copyFileSync(KEY, files.keyFile);
  return files;
}

interface Reply {
  readonly status: number | undefined;
  /** The serial number of the certificate. */
  readonly serial: string;
}

function ask(url: string): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const ca = [readFileSync(CERTIFICATE), readFileSync(NEXT_CERTIFICATE)];
    const request = sendRequest(url, { ca, agent: false }, (response) => {
      const { serialNumber } = (response.socket as TLSSocket).getPeerCertificate();
      response.resume().once("end", () => {
        resolve({ status: response.statusCode, serial: serialNumber });
      });
    });
    request.on("error", reject).end();
  });
}

test("with a certificate the server speaks HTTPS, and requests are marked as encrypted", async () => {
  let isEncrypted = false;
  const { url } = await listen(
    async (request) => {
      ({ isEncrypted } = request);
      return 200;
    },
    { tls: copyFiles() },
  );
  expect(url).toMatch(/^https:\/\/127\.0\.0\.1:\d+$/);
  expect(await ask(url)).toEqual({ status: 200, serial: "01" });
  expect(isEncrypted).toBe(true);
});

test("versions of TLS before 1.2 are refused", async () => {
  const { url } = await listen(readAll, { tls: copyFiles() });
  const port = Number(new URL(url).port);
  const old = { minVersion: "TLSv1", maxVersion: "TLSv1.1" } as const;
  const ciphers = "DEFAULT@SECLEVEL=0";
  const socket = connect({ port, host: "127.0.0.1", rejectUnauthorized: false, ciphers, ...old });
  await expect(once(socket, "secureConnect")).rejects.toThrow(/alert/);
});

test("bytes that are not TLS end their own connection only", async () => {
  const server = await listen(readAll, { tls: copyFiles() });
  const { socket, received } = await connectTo(server);
  const ended = once(socket, "close");
  socket.write(`${HEAD}\r\n`);
  await ended;
  expect(received()).toBe("");
  expect(await ask(server.url)).toEqual({ status: 200, serial: "01" });
});

test("new certificate files are used from the next connection on", async () => {
  const lines: string[] = [];
  const tls = copyFiles();
  const server = await listen(readAll, { tls, log: (_, message) => void lines.push(message) });
  copyFileSync(NEXT_CERTIFICATE, tls.certFile);
  expect(await ask(server.url)).toEqual({ status: 200, serial: "01" });
  server.reloadTls();
  expect(await ask(server.url)).toEqual({ status: 200, serial: "02" });
  expect(lines).toEqual(["the certificate and key of HTTPS were read again"]);
});

test("invalid new files are logged, and the previous ones stay in use", async () => {
  const lines: string[] = [];
  const tls = copyFiles();
  const log = (level: string, message: string): void => void lines.push(`${level} ${message}`);
  const server = await listen(readAll, { tls, log });
  writeFileSync(tls.certFile, "half of a file");
  server.reloadTls();
  expect(await ask(server.url)).toEqual({ status: 200, serial: "01" });
  expect(lines).toHaveLength(1);
  expect(lines[0]).toContain(
    `error failed to load the new certificate, the old one stays in use: ${tls.certFile}: expected a certificate in PEM`,
  );
});

test("without HTTPS there is nothing to reload", async () => {
  const lines: string[] = [];
  const server = await listen(readAll, { log: (_, message) => void lines.push(message) });
  server.reloadTls();
  expect(lines).toEqual([]);
});

test("closing does not wait for connections without a request, before or after the TLS handshake", async () => {
  const server = await listen(refuseAll, { tls: copyFiles() });
  const port = Number(new URL(server.url).port);
  const silent = await connectTo(server);
  const idle = connect({ port, host: "127.0.0.1", rejectUnauthorized: false });
  onTestFinished(() => void idle.destroy());
  await once(idle, "secureConnect");
  const ended = [once(silent.socket, "close"), once(idle.on("error", () => {}).resume(), "close")];
  await server.close();
  expect(await Promise.all(ended)).toHaveLength(2);
});

test("[H14] closing lets a request under way over HTTPS finish", async () => {
  let hasBegun = false;
  const server = await listen(
    async (request) => {
      hasBegun = true;
      return (await request.readBody()).length === 5 ? 200 : 400;
    },
    { tls: copyFiles() },
  );
  const port = Number(new URL(server.url).port);
  const socket = connect({ port, host: "127.0.0.1", rejectUnauthorized: false });
  onTestFinished(() => void socket.destroy());
  let received = "";
  socket.setEncoding("latin1").on("data", (chunk: string) => {
    received += chunk;
  });
  await once(socket, "secureConnect");
  socket.write(`${HEAD}Content-Length: 5\r\n\r\nhe`);
  await vi.waitFor(() => expect(hasBegun).toBe(true));
  const closed = server.close();
  socket.write("llo");
  await closed;
  await vi.waitFor(() => expect(received).toMatch(/^HTTP\/1.1 200 [^]*connection: close/i));
});

test("files that cannot be read are named, with the expected content", async () => {
  const { certFile, keyFile } = copyFiles();
  const expectRefused = (files: TlsFiles, message: string): void =>
    expect(() => readTls(files)).toThrow(
      expect.objectContaining({ code: "config.invalid", message }),
    );
  expectRefused(
    { certFile: `${certFile}x`, keyFile },
    `${certFile}x: expected a file that can be read, with the certificate`,
  );
  expectRefused(
    { certFile, keyFile: `${keyFile}x` },
    `${keyFile}x: expected a file that can be read, with the private key`,
  );
  expectRefused({ certFile: keyFile, keyFile }, `${keyFile}: expected a certificate in PEM`);
  expectRefused(
    { certFile, keyFile: certFile },
    `${certFile}: expected a private key in PEM, without a passphrase`,
  );
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  writeFileSync(keyFile, privateKey.export({ type: "pkcs8", format: "pem" }));
  expectRefused(
    { certFile, keyFile },
    `${keyFile}: expected the private key of the certificate in ${certFile}, found another one`,
  );
  await expect(listen(readAll, { tls: { certFile, keyFile } })).rejects.toThrow(keyFile);
});
