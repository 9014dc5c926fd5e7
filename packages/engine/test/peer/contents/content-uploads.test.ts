/**
 * Uploads of contents: what counts as progress, and what is said of a server that takes none.
 */

import { expect, test, vi } from "vitest";
import { TransferError } from "../../../src/peer/contents/content-transport.ts";
import { type ContentRig, contentRig, pieces, referTo } from "../../support/content-rig.ts";
import { write } from "../../support/peer-pair.ts";

/** A content whose document waits for it. */
async function waiting(each: ContentRig, text: string): Promise<string> {
  const token = await each.contents.create(pieces(text));
  await write(each.pair, referTo(text, token));
  return token.id;
}

async function arrived({ server }: ContentRig, id: string): Promise<void> {
  await vi.waitFor(() => expect(server.stored.has(id)).toBe(true));
}

test("[S90] an upload that gets further at each cut goes on at once", async () => {
  const each = await contentRig();
  each.server.cutAfter = 2;
  const id = await waiting(each, "0123456789abcdefghij");
  each.contents.start();
  await arrived(each, id);
  expect(each.server.beginCount).toBeGreaterThanOrEqual(10);
  // After the first cut it is not known yet whether anything arrived.
  expect(each.waits.filter((ms) => ms > 0)).toHaveLength(1);
  await each.contents.close();
});

test("an upload that gets no further waits longer each time", async () => {
  const each = await contentRig();
  each.server.cutAfter = 0;
  await waiting(each, "0123456789");
  each.contents.start();
  await vi.waitFor(() => expect(each.waits.filter((ms) => ms > 4000).length).toBeGreaterThan(0));
  await each.contents.close();
});

test("the bytes that were sent are those that the server has stored, whatever was read for them", async () => {
  const each = await contentRig();
  each.server.cutAfter = 3;
  const id = await waiting(each, "0123456789abcdefghij");
  each.contents.start();
  await arrived(each, id);
  await vi.waitFor(() => expect(each.contents.stats.uploadsWaiting).toBe(0));
  expect(each.contents.stats.sentBytes).toBe(20);
  await each.contents.close();
});

test.each([
  {
    fault: new TransferError("later", "503: no space left (store.full)", { code: "store.full" }),
    code: "store.full",
  },
  { fault: new TransferError("absent", "404: no such app"), code: "config.invalid" },
])(
  "a server that takes no contents is reported once, and shown while it lasts: $code",
  async ({ fault, code }) => {
    const each = await contentRig();
    const ids = [await waiting(each, "one"), await waiting(each, "two")];
    each.server.fault = fault;
    each.contents.start();
    await vi.waitFor(() => expect(each.server.beginCount).toBeGreaterThan(5));
    expect(each.errors).toMatchObject([
      { code, message: expect.stringContaining(fault.message) as unknown },
    ]);
    expect(each.contents.stats).toMatchObject({ failedCount: 1, uploadFault: fault.message });
    each.server.fault = undefined;
    for (const id of ids) await arrived(each, id);
    await vi.waitFor(() => expect(each.contents.stats.uploadsWaiting).toBe(0));
    expect(each.contents.stats.uploadFault).toBe(undefined);
    // What happens again later is another case.
    each.server.fault = fault;
    await waiting(each, "three");
    await vi.waitFor(() => expect(each.errors).toHaveLength(2));
    await each.contents.close();
  },
);

test("a connection that is lost, or a server that is busy, is no error", async () => {
  const each = await contentRig();
  const id = await waiting(each, "hello");
  each.contents.start();
  for (const fault of ["lost", "later"] as const) {
    const { beginCount } = each.server;
    each.server.fault = new TransferError(fault, "not now");
    await vi.waitFor(() => expect(each.server.beginCount).toBeGreaterThan(beginCount + 2));
  }
  each.server.fault = undefined;
  await arrived(each, id);
  expect(each.errors).toEqual([]);
  expect(each.contents.stats.failedCount).toBe(0);
  await each.contents.close();
});
