/**
 * The gate of the data API: who gets through, and in which order it looks.
 */

import type { IncomingHttpHeaders } from "node:http";
import { FULL_PERMISSIONS, type Permissions, readPermissions } from "@bigpeer/engine/query";
import { nodePlatform } from "@bigpeer/node";
import { encodeCbor, PeerError } from "@bigpeer/protocol";
import { afterAll, expect, test, vi } from "vitest";
import { testHost } from "../../../node/test/support/store-host.ts";
import { folderOfFile } from "../../../node/test/support/temporary-folder.ts";
import { isFullSize } from "../../../protocol/test/support/test-size.ts";
import { Authentication } from "../../src/auth/authentication.ts";
import {
  type AppUse,
  type DataApp,
  type DataCall,
  DataGate,
} from "../../src/data-api/data-gate.ts";
import { NO_PARAMETERS } from "../../src/http/path-table.ts";
import type { Place } from "../../src/http/router.ts";
import {
  BODIES_PER_CREDENTIAL_SIZE_MAX,
  BODIES_SIZE_MAX,
  BODY_SIZE_MAX,
  CALLS_MAX,
  CALLS_PER_CREDENTIAL_MAX,
} from "../../src/limits/limits.ts";
import { Registry } from "../../src/registry/registry.ts";
import { type HandMadeRequest, handMadeRequest } from "../support/hand-made-request.ts";

const JSON_TYPE = { "content-type": "application/json" };
const AUTHOR = { actor: "test" };

const registry = await Registry.open(folderOfFile(), testHost());
afterAll(() => registry.close());
const APP: DataApp = await registry.apps.create({ name: "one" }, AUTHOR);
const OTHER: DataApp = await registry.apps.create({ name: "other" }, AUTHOR);

async function addKey(appId: string, permissions: Permissions = FULL_PERMISSIONS): Promise<string> {
  const text = registry.keys.draw();
  await registry.keys.add(text, { appId, permissions });
  return text;
}

/** Both apps; a use that is released twice, or never, is seen. */
class Apps {
  uses = 0;
  /** Whether an app must be waited for. */
  isClosed = false;

  tryUse(id: string): AppUse<DataApp> | undefined {
    return this.isClosed ? undefined : this.#use(id);
  }

  async use(id: string): Promise<AppUse<DataApp>> {
    return this.#use(id);
  }

  #use(id: string): AppUse<DataApp> {
    this.uses++;
    return { app: id === APP.id ? APP : OTHER, release: () => void this.uses-- };
  }
}

function gate(isOpen = true, apps = new Apps()): DataGate<DataApp> {
  return new DataGate({
    source: () => (isOpen ? { registry, apps } : undefined),
    auth: new Authentication({
      platform: { now: () => nodePlatform.now(), elapsed: () => 0 },
      log: () => {},
      webhookTimeoutMs: 1_000,
    }),
  });
}

function placeOf(appId: string | undefined): Place {
  return { appId, version: "v4", parameters: NO_PARAMETERS, query: "" };
}

function post(headers: IncomingHttpHeaders, body: string | Uint8Array = "{}"): HandMadeRequest {
  return handMadeRequest({ headers: { ...JSON_TYPE, ...headers }, body });
}

/** The call that got through. */
function admit(
  request: HandMadeRequest,
  appId?: string,
  through = gate(),
): Promise<DataCall<DataApp>> {
  return through.admit(request, placeOf(appId), async (call) => call);
}

test("[H1] the key decides the app", async () => {
  for (const app of [APP, OTHER]) {
    const authorization = `Bearer ${await addKey(app.id)}`;
    const request = post({ authorization }, '{"a":1}');
    expect(await admit(request)).toEqual({
      app,
      credential: {
        id: authorization.slice(10, 18),
        writer: { credential: `key-${authorization.slice(10, 18)}` },
        permissions: FULL_PERMISSIONS,
        authority: undefined,
        mayAskPeers: true,
        mayUpload: true,
      },
      request,
      place: placeOf(undefined),
      body: { a: 1 },
      bytes: Buffer.from('{"a":1}'),
    });
  }
});

test("[H1] an app in the path must be the app of the key", async () => {
  const authorization = `Bearer ${await addKey(APP.id)}`;
  for (const appId of [APP.id, APP.id.toUpperCase()]) {
    expect((await admit(post({ authorization }), appId)).app).toBe(APP);
  }
  for (const appId of [OTHER.id, "default", "", `${APP.id}0`]) {
    await expect(admit(post({ authorization }), appId)).rejects.toMatchObject({
      status: 401,
      message: "the credential is not known, has expired, or is not for this app",
    });
  }
});

test("[H2] the scheme may be in any case, with any number of spaces", async () => {
  const key = await addKey(APP.id);
  for (const authorization of [`bearer ${key}`, `BEARER ${key}`, `BeArEr   ${key} `]) {
    expect((await admit(post({ authorization }))).app).toBe(APP);
  }
});

test("[H2] without a valid credential it is 401, and the body is not read", async () => {
  const key = await addKey(APP.id);
  for (const authorization of [
    undefined,
    "",
    "Bearer",
    "Bearer ",
    key,
    `Basic ${key}`,
    `Bearer ${key} ${key}`,
    `Bearer ${registry.keys.draw()}`,
    "Bearer eyJhbGciOiJIUzI1NiJ9.e30.x",
    "Bearer \u0000",
  ]) {
    const request = post(authorization === undefined ? {} : { authorization });
    await expect(admit(request), authorization).rejects.toMatchObject({
      status: 401,
      headers: { "www-authenticate": "Bearer" },
    });
    expect(request.wasRead).toBe(false);
  }
});

test("[H2] a key of a deleted app is 401", async () => {
  const { id } = await registry.apps.create({ name: "short-lived" }, AUTHOR);
  const authorization = `Bearer ${await addKey(id)}`;
  await registry.apps.remove("short-lived", AUTHOR);
  await expect(admit(post({ authorization }))).rejects.toMatchObject({ status: 401 });
});

test("[H2] a call whose app is deleted while it runs is 401, as if it had come later", async () => {
  const failures = [
    new PeerError("store.closed", "the store is closed"),
    new PeerError("query.timeout", "the app was deleted"),
  ];
  for (const failure of failures) {
    const { id } = await registry.apps.create({ name: "short-lived" }, AUTHOR);
    const authorization = `Bearer ${await addKey(id)}`;
    const apps = new Apps();
    apps.tryUse = () => ({ app: { id }, release: () => {} });
    const fail = (isDeleted: boolean): Promise<never> =>
      gate(true, apps).admit(post({ authorization }), placeOf(undefined), async () => {
        if (isDeleted) await registry.apps.remove("short-lived", AUTHOR);
        throw failure;
      });
    // While there is the app, what failed is what it is.
    await expect(fail(false)).rejects.toBe(failure);
    await expect(fail(true)).rejects.toMatchObject({
      status: 401,
      message: "the credential is not known, has expired, or is not for this app",
      headers: { "www-authenticate": "Bearer" },
    });
  }
});

test("[H2] a call whose app is deleted while it is opened is 401", async () => {
  const { id } = await registry.apps.create({ name: "short-lived" }, AUTHOR);
  const authorization = `Bearer ${await addKey(id)}`;
  const apps = new Apps();
  apps.tryUse = () => undefined;
  apps.use = async () => {
    await registry.apps.remove("short-lived", AUTHOR);
    throw new PeerError("store.closed", "expected an app of this server");
  };
  const admitted = admit(post({ authorization }), undefined, gate(true, apps));
  await expect(admitted).rejects.toMatchObject({ status: 401 });
});

test("[A3] a key has the authority that its permissions give, created once", async () => {
  const read = { queriesByCollection: { cars: ["color == 'blue'"] } };
  const through = gate();
  for (const [given, mayUpload, mayAskPeers] of [
    [{ read, write: read, remoteQuery: true }, true, false],
    [{ read, write: { queriesByCollection: { cars: [] } } }, false, false],
    [{ read: { everything: true }, remoteQuery: true }, false, true],
    [{}, false, false],
  ] as const) {
    const permissions = readPermissions(given);
    const authorization = `Bearer ${await addKey(APP.id, permissions)}`;
    const { credential } = await admit(post({ authorization }), undefined, through);
    const { authority, ...rest } = credential;
    const id = authorization.slice(10, 18);
    const writer = { credential: `key-${id}` };
    expect(rest).toEqual({ id, writer, permissions, mayUpload, mayAskPeers });
    expect(authority?.credential).toBe(rest.id);
    const again = await admit(post({ authorization }), undefined, through);
    expect(again.credential).toBe(credential);
  }
});

test("an app is in use until its call is answered, however the call ends", async () => {
  const authorization = `Bearer ${await addKey(APP.id)}`;
  const apps = new Apps();
  const through = gate(true, apps);
  for (const isClosed of [false, true]) {
    apps.isClosed = isClosed;
    const uses = await through.admit(post({ authorization }), placeOf(undefined), () => apps.uses);
    expect(uses).toBe(1);
    expect(apps.uses).toBe(0);
    await expect(admit(post({ authorization }, "{"), undefined, through)).rejects.toMatchObject({
      code: "json.syntax",
    });
    const wrongType = { authorization, "content-type": "text/plain" };
    await expect(admit(post(wrongType), undefined, through)).rejects.toMatchObject({ status: 415 });
    const failing = through.admit(post({ authorization }), placeOf(undefined), () => {
      throw new Error("failed");
    });
    await expect(failing).rejects.toThrow("failed");
    expect(apps.uses).toBe(0);
  }
});

test("a call with a known key and an open app is synchronous", async () => {
  const authorization = `Bearer ${await addKey(APP.id)}`;
  const apps = new Apps();
  const through = gate(true, apps);
  expect(through.authenticate(post({ authorization }), placeOf(undefined))).not.toBeInstanceOf(
    Promise,
  );
  apps.isClosed = true;
  expect(through.authenticate(post({ authorization }), placeOf(undefined))).toBeInstanceOf(Promise);
});

test("[H3] the credential is checked before the content type, and that before the body", async () => {
  const wrongType = { "content-type": "text/plain" };
  await expect(admit(post(wrongType))).rejects.toMatchObject({ status: 401 });
  const request = post({ ...wrongType, authorization: `Bearer ${await addKey(APP.id)}` });
  await expect(admit(request)).rejects.toMatchObject({ status: 415 });
  expect(request.wasRead).toBe(false);
});

test("[H4] a body in CBOR is decoded as CBOR", async () => {
  const authorization = `Bearer ${await addKey(APP.id)}`;
  const body = { bytes: new Uint8Array([1, 2, 3]), large: 2n ** 63n };
  const headers = { authorization, "content-type": "application/cbor" };
  expect((await admit(post(headers, encodeCbor(body)))).body).toEqual(body);
});

test("[H14] while the server starts or closes every call is 503", async () => {
  await expect(admit(post({}), undefined, gate(false))).rejects.toMatchObject({
    status: 503,
    headers: { "retry-after": "1" },
  });
});

/** Bodies of 8 MB are read one after the other. */
const LONG = 60_000;

test(
  "[H5] bodies that together exceed the limit are 503 until others are answered",
  async () => {
    const authorization = `Bearer ${await addKey(APP.id)}`;
    const other = `Bearer ${await addKey(APP.id)}`;
    // In CBOR, where bytes are read as soon as they are there. Their head is of five bytes.
    const body = encodeCbor(new Uint8Array(BODY_SIZE_MAX - 5));
    const cbor = (key: string): HandMadeRequest =>
      post({ authorization: key, "content-type": "application/cbor" }, body);
    const through = gate();
    const endings: (() => void)[] = [];
    const half = BODIES_PER_CREDENTIAL_SIZE_MAX / BODY_SIZE_MAX;
    const hold = (key: string, count = half): Promise<void>[] =>
      Array.from({ length: count }, () =>
        through.admit(cbor(key), placeOf(undefined), () => {
          return new Promise<void>((resolve) => void endings.push(resolve));
        }),
      );
    const running = hold(authorization);
    await vi.waitFor(() => expect(endings).toHaveLength(half), LONG);
    const refused = admit(post({ authorization }), undefined, through);
    await expect(refused).rejects.toMatchObject({ status: 503, headers: { "retry-after": "1" } });
    // Another credential has its own share, until only what is kept for other apps is left.
    const most = ((7 / 8) * BODIES_SIZE_MAX) / BODY_SIZE_MAX;
    running.push(...hold(other, most - half));
    await vi.waitFor(() => expect(endings).toHaveLength(most), LONG);
    const third = `Bearer ${await addKey(APP.id)}`;
    const full = admit(post({ authorization: third }), undefined, through);
    await expect(full).rejects.toMatchObject({ status: 503 });
    const neighbour = `Bearer ${await addKey(OTHER.id)}`;
    expect((await admit(post({ authorization: neighbour }), undefined, through)).app).toBe(OTHER);
    for (const end of endings) end();
    await Promise.all(running);
    expect((await admit(cbor(authorization), undefined, through)).app).toBe(APP);
  },
  LONG,
);

test("[H5] bodies that do not arrive take neither a slot nor their announced size", async () => {
  const authorization = `Bearer ${await addKey(APP.id)}`;
  const headers = { ...JSON_TYPE, authorization };
  const through = gate();
  for (let i = 0; i < CALLS_MAX; i++) {
    const parts = { headers, body: "{", isBodyOpen: true, bodySizeMax: BODY_SIZE_MAX };
    admit(handMadeRequest(parts), undefined, through).catch(() => {});
  }
  expect((await admit(post({ authorization }), undefined, through)).app).toBe(APP);
});

test.runIf(isFullSize)(
  "a call that fails gives its memory back",
  async () => {
    const authorization = `Bearer ${await addKey(APP.id)}`;
    const through = gate();
    const body = "{".padEnd(BODY_SIZE_MAX);
    for (let i = 0; i < BODIES_PER_CREDENTIAL_SIZE_MAX / BODY_SIZE_MAX + 1; i++) {
      const failing = admit(post({ authorization }, body), undefined, through);
      await expect(failing).rejects.toMatchObject({ code: "json.syntax" });
    }
  },
  LONG,
);

test("[H5] more calls than the limit are 503 until others are answered", async () => {
  const authorization = `Bearer ${await addKey(APP.id)}`;
  const through = gate();
  const endings: (() => void)[] = [];
  const hold = (key: string, count = CALLS_PER_CREDENTIAL_MAX): Promise<void>[] =>
    Array.from({ length: count }, () =>
      through.admit(post({ authorization: key }), placeOf(undefined), () => {
        return new Promise<void>((resolve) => void endings.push(resolve));
      }),
    );
  const running = hold(authorization);
  await vi.waitFor(() => expect(endings).toHaveLength(CALLS_PER_CREDENTIAL_MAX));
  const busy = { status: 503, headers: { "retry-after": "1" } };
  await expect(admit(post({ authorization }), undefined, through)).rejects.toMatchObject(busy);
  // Another credential has its own share, until only what is kept for other apps is left.
  const most = (7 / 8) * CALLS_MAX;
  running.push(...hold(`Bearer ${await addKey(APP.id)}`, most - CALLS_PER_CREDENTIAL_MAX));
  await vi.waitFor(() => expect(endings).toHaveLength(most));
  const third = post({ authorization: `Bearer ${await addKey(APP.id)}` });
  await expect(admit(third, undefined, through)).rejects.toMatchObject(busy);
  const neighbour = post({ authorization: `Bearer ${await addKey(OTHER.id)}` });
  expect((await admit(neighbour, undefined, through)).app).toBe(OTHER);
  for (const end of endings) end();
  await Promise.all(running);
  expect((await admit(post({ authorization }), undefined, through)).app).toBe(APP);
});

test("[H43] after 20 wrong credentials within a minute all are 429 except those accepted before", async () => {
  const through = gate();
  const authorization = `Bearer ${await addKey(APP.id)}`;
  expect((await admit(post({ authorization }), undefined, through)).app).toBe(APP);
  const wrong = (): Promise<unknown> =>
    admit(post({ authorization: "Bearer nobody" }), undefined, through);
  for (let i = 0; i < 20; i++) await expect(wrong()).rejects.toMatchObject({ status: 401 });
  const waits = { status: 429, headers: { "retry-after": "60" } };
  await expect(wrong()).rejects.toMatchObject(waits);
  // A right guess is not told from a wrong one.
  const fresh = `Bearer ${await addKey(APP.id)}`;
  const guess = admit(post({ authorization: fresh }), undefined, through);
  await expect(guess).rejects.toMatchObject(waits);
  const remoteAddress = "192.0.2.7";
  const headers = { ...JSON_TYPE, authorization: fresh };
  const elsewhere = handMadeRequest({ headers, body: "{}", remoteAddress });
  expect((await admit(elsewhere, undefined, through)).app).toBe(APP);
  expect((await admit(post({ authorization }), undefined, through)).app).toBe(APP);
  // No credential is none that failed.
  await expect(admit(post({}), undefined, through)).rejects.toMatchObject({ status: 401 });
});
