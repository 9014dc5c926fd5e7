/**
 * TLS files: reads and checks the certificate, private key and CA bundle of HTTPS.
 */

import { createPrivateKey, type KeyObject, X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { createSecureContext, type TlsOptions } from "node:tls";
import { PeerError } from "@bigpeer/protocol";
import type { TlsFiles } from "../config/config.ts";

/**
 * Throws PeerError `config.invalid`, which names the file and what was expected in it. With a CA
 * file, clients must present a certificate that one of its authorities signed.
 */
export function readTls({ certFile, keyFile, caFile }: TlsFiles): TlsOptions {
  const cert = readPem(certFile, "the certificate");
  const key = readPem(keyFile, "the private key");
  const certificate = checkCertificate(cert, certFile);
  if (!certificate.checkPrivateKey(checkKey(key, keyFile))) {
    throw invalid(keyFile, `the private key of the certificate in ${certFile}, found another one`);
  }
  const own = { cert, key, minVersion: "TLSv1.2" } as const;
  if (caFile === undefined) return own;
  const ca = readPem(caFile, "certificates");
  checkCertificate(ca, caFile);
  return { ...own, ca, requestCert: true, rejectUnauthorized: true };
}

function readPem(file: string, what: string): Buffer {
  try {
    return readFileSync(file);
  } catch (cause) {
    throw invalid(file, `a file that can be read, with ${what}`, cause);
  }
}

/** Returns the first certificate, which is the server's own; checks its chain as well. */
function checkCertificate(cert: Buffer, file: string): X509Certificate {
  try {
    createSecureContext({ cert });
    return new X509Certificate(cert);
  } catch (cause) {
    throw invalid(file, "a certificate in PEM", cause);
  }
}

function checkKey(key: Buffer, file: string): KeyObject {
  try {
    return createPrivateKey(key);
  } catch (cause) {
    throw invalid(file, "a private key in PEM, without a passphrase", cause);
  }
}

function invalid(file: string, expected: string, cause?: unknown): PeerError {
  return new PeerError("config.invalid", `${file}: expected ${expected}`, { cause });
}
