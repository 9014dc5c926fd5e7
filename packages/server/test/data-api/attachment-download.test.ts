import { randomBytes } from "node:crypto";
import { rmSync, truncateSync } from "node:fs";
import { beforeAll, describe, expect, test } from "vitest";
import { testHost } from "../../../node/test/support/store-host.ts";
import { temporaryFolder } from "../../../node/test/support/temporary-folder.ts";
import { startServer } from "../../src/server.ts";
import { download, idOf, sendTo, uploaded } from "../support/attachment-client.ts";
import { DataApi, openDataApi } from "../support/data-api.ts";
import { openFirstApp } from "../support/open-app.ts";
import { testConfig } from "../support/test-config.ts";

const api = await openDataApi();
const content = Buffer.from("0123456789");
const id = idOf(content);

beforeAll(() => uploaded(api, content));

function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString();
}

describe("[H37] a download", () => {
  test("returns the content, with all its headers", async () => {
    const { status, headers, bytes } = await download(api, id);
    expect({ status, text: textOf(bytes) }).toEqual({ status: 200, text: "0123456789" });
    const names = [
      "content-type",
      "content-length",
      "content-disposition",
      "content-encoding",
      "x-content-type-options",
      "etag",
      "accept-ranges",
      "cache-control",
    ];
    expect(Object.fromEntries(names.map((name) => [name, headers.get(name)]))).toEqual({
      "content-type": "application/octet-stream",
      "content-length": "10",
      "content-disposition": "attachment",
      "content-encoding": null,
      "x-content-type-options": "nosniff",
      etag: `"${id}"`,
      "accept-ranges": "bytes",
      "cache-control": "private, max-age=31536000, immutable",
    });
  });

  test("by a percent-encoded id is the same: it is the same path", async () => {
    const encoded = Buffer.from(id).toString("hex").replaceAll(/../g, "%$&");
    const { status, bytes } = await download(api, encoded);
    expect({ status, text: textOf(bytes) }).toEqual({ status: 200, text: "0123456789" });
  });

  test.each([{}, { range: "bytes=2-4" }])(
    "by HEAD has the headers of the whole, with %j",
    async (headers) => {
      const get = await download(api, id);
      const asked = { method: "HEAD", headers: headers as Record<string, string> };
      const head = await download(api, id, asked);
      const reported = ({ status, headers: all }: typeof get): unknown => {
        const own = [...all].filter(
          ([name]) => !/^(date|x-request-id|keep-alive|connection)$/.test(name),
        );
        return { status, own };
      };
      expect(reported(head)).toEqual(reported(get));
      expect(head.bytes).toHaveLength(0);
    },
  );

  test.each([
    ["bytes=2-4", "234", "bytes 2-4/10"],
    ["bytes=7-", "789", "bytes 7-9/10"],
    ["bytes=7-70", "789", "bytes 7-9/10"],
    ["bytes=-2", "89", "bytes 8-9/10"],
  ])("of the range %s is a part", async (range, text, contentRange) => {
    const { status, headers, bytes } = await download(api, id, { headers: { range } });
    expect({ status, text: textOf(bytes) }).toEqual({ status: 206, text });
    expect(headers.get("content-range")).toBe(contentRange);
    expect(headers.get("content-length")).toBe(String(text.length));
  });

  test("of a range outside the content is 416 with the length", async () => {
    const { status, headers, body } = await download(api, id, { headers: { range: "bytes=10-" } });
    expect(status).toBe(416);
    expect(headers.get("content-range")).toBe("bytes */10");
    expect(headers.get("cache-control")).toBe("no-store");
    expect(body).toEqual({ message: "expected a range within the 10 bytes of the attachment" });
  });

  test.each(["bytes=0-1,3-4", "lines=0-1", "bytes=4-2"])("of %s is the whole", async (range) => {
    const { status, bytes } = await download(api, id, { headers: { range } });
    expect({ status, size: bytes.length }).toEqual({ status: 200, size: 10 });
  });

  test.each<[string, number]>([
    [`"${id}"`, 206],
    [`W/"${id}"`, 200],
    ['"other"', 200],
    ["Wed, 21 Oct 2026 07:28:00 GMT", 200],
  ])("of a range with If-Range %s is %i", async (ifRange, status) => {
    const headers = { range: "bytes=0-1", "if-range": ifRange };
    expect((await download(api, id, { headers })).status).toBe(status);
  });

  test.each([`"${id}"`, `W/"${id}"`, `"a", "${id}"`, "*"])(
    "that the client already has, by If-None-Match %s, is 304",
    async (ifNoneMatch) => {
      const asked = { headers: { "if-none-match": ifNoneMatch, range: "bytes=99-" } };
      for (const method of ["GET", "HEAD"]) {
        const { status, headers, bytes } = await download(api, id, { method, ...asked });
        expect({ status, size: bytes.length }).toEqual({ status: 304, size: 0 });
        expect(headers.get("etag")).toBe(`"${id}"`);
        // A cache takes these over: it must not forget whose answer it keeps.
        const whole = await download(api, id, { method });
        expect(headers.get("vary")).toBe(whole.headers.get("vary"));
      }
    },
  );

  test("with another If-None-Match tag returns the content", async () => {
    const asked = { headers: { "if-none-match": '"other"' } };
    expect((await download(api, id, asked)).status).toBe(200);
  });

  test.each(["/api/v5", "app"])("is also served under %s", async (where) => {
    const prefix = where === "app" ? `/${api.quickstart.appId}/api/v5` : where;
    expect(textOf((await download(api, id, { prefix })).bytes)).toBe("0123456789");
  });

  test("of a large content can return any part of it", async () => {
    const large = randomBytes(5_000_000);
    const { id: largeId } = await uploaded(api, large);
    const asked = { headers: { range: "bytes=1234567-3456789" } };
    const { bytes } = await download(api, largeId, asked);
    expect(idOf(bytes)).toBe(idOf(large.subarray(1_234_567, 3_456_790)));
  });
});

describe("[H37] not found is", () => {
  test.each([
    idOf(Buffer.from("never uploaded")),
    "short",
    `${id}x`,
    "..%2F..%2Fstore%2Fdata.mdb",
    "%00",
    "__proto__",
    "é",
  ])("the id %s", async (unknown) => {
    for (const method of ["GET", "HEAD"]) {
      expect((await download(api, unknown, { method })).status).toBe(404);
    }
    expect((await download(api, unknown)).body).toEqual({
      message: "there is no attachment with this id",
    });
  });

  test("a deeper path", async () => {
    expect((await sendTo(api, `/attachments/${id}/more`)).status).toBe(404);
  });
});

test("[H37] a request without a credential does not learn whether content exists", async () => {
  for (const one of [id, idOf(Buffer.from("never uploaded"))]) {
    const { status } = await download(api, one, { headers: { authorization: "Bearer nobody" } });
    expect(status).toBe(401);
  }
});

test("other methods are 405", async () => {
  const reply = await sendTo(api, `/attachments/${id}`, { method: "DELETE" });
  expect([reply.status, reply.headers.get("allow")]).toEqual([405, "GET, HEAD"]);
  const other = await sendTo(api, "/attachments/upload");
  expect([other.status, other.headers.get("allow")]).toEqual([405, "POST"]);
});

test("[H37] a record whose file is lost or truncated is 500, and the log names the file", async () => {
  const config = testConfig({ dataDir: temporaryFolder() });
  const host = testHost();
  const server = await startServer(config, host);
  const own = new DataApi(server, config);
  const { id: lost } = await uploaded(own, content);
  const path = (await openFirstApp(server)).attachments.path(lost);
  truncateSync(path, 3);
  expect((await download(own, lost)).status).toBe(500);
  rmSync(path);
  expect((await download(own, lost)).status).toBe(500);
  const errors = host.lines.filter((line) => line.startsWith("error failed to answer a request"));
  expect(errors).toEqual([
    `error failed to answer a request: expected 10 bytes of the attachment ${lost}, found 3 at ${path}`,
    expect.stringContaining(`expected the content of the attachment ${lost} at ${path}: ENOENT`),
  ]);
  // Uploading it again makes it whole.
  await uploaded(own, content);
  expect((await download(own, lost)).status).toBe(200);
  await server.close();
});

describe("[H39] formatAttachment", () => {
  test("adds a url from which the content of the token can be downloaded", async () => {
    const token = await uploaded(api, Buffer.from("a photo"));
    await api.upsert("cars", { blue: { color: "blue" } });
    const update = {
      method: "update",
      collection: "cars",
      query: "_id == 'blue'",
      commands: [{ path: "photo", value: token, method: "setAttachment" }],
    };
    const written = await api.call("write", { commands: [update] });
    expect(written.status, JSON.stringify(written.body)).toBe(200);
    const found = await api.call("findbyid", {
      collection: "cars",
      id: "blue",
      formatAttachment: true,
    });
    const { photo } = (found.body as { fields: { photo: { url: string } } }).fields;
    expect(photo).toEqual({ ...token, metadata: {}, url: photo.url });
    const authorization = `Bearer ${api.quickstart.apiKey}`;
    const response = await fetch(photo.url, { headers: { authorization } });
    expect(await response.text()).toBe("a photo");
  });
});

describe("[H38] a token by the override attachment", () => {
  async function write(value: unknown): Promise<number> {
    const command = { method: "upsert", collection: "cars", id: "red", value: { photo: value } };
    const types = { valueTypeOverrides: { photo: "attachment" } };
    const reply = await api.call("write", { commands: [{ ...command, ...types }] });
    return reply.status;
  }

  test("is accepted if its content was uploaded with that length, else it is 400", async () => {
    const token = await uploaded(api, Buffer.from("another photo"));
    expect(await write({ ...token, len: 1 })).toBe(400);
    expect(await write({ id: idOf(Buffer.from("no")), len: 2 })).toBe(400);
    expect(await write({ ...token, metadata: { name: "red.jpg" } })).toBe(200);
  });

  test("[H6] has no metadata if they are null", async () => {
    const token = await uploaded(api, Buffer.from("a third photo"));
    expect(await write({ ...token, metadata: null })).toBe(200);
    const { body } = await api.call("findbyid", { collection: "cars", id: "red" });
    expect(body).toMatchObject({ fields: { photo: { ...token, metadata: {} } } });
  });
});
