/**
 * The options of a peer on a page: what is refused before a worker is made.
 */

import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { openPeer, type PeerOptions } from "../../src/web/page/index.ts";

const APP = { appId: "8305ae6c-c66b-46e5-9c8b-c7353ffb5fec", url: "http://127.0.0.1:1" };

beforeEach(() => {
  vi.stubGlobal("isSecureContext", true);
  vi.stubGlobal("location", { href: "https://app.example.com/" });
});

afterEach(() => {
  vi.unstubAllGlobals();
});

test("a page without https is refused", async () => {
  vi.stubGlobal("isSecureContext", false);
  vi.stubGlobal("location", { href: "http://192.168.0.7/" });
  await expect(openPeer({ ...APP, token: "t" })).rejects.toMatchObject({
    code: "config.invalid",
    message: "expected a page with https or of localhost, found http://192.168.0.7/",
  });
});

test.each([
  ["no options", undefined, "expected an object as options, found undefined"],
  ["an unknown name", { ...APP, token: "t", remot: "off" }, 'as an option, found "remot"'],
  ["an option of Node", { ...APP, token: "t", folder: "phone" }, 'as an option, found "folder"'],
  ["an app that is none", { ...APP, appId: "shop", token: "t" }, 'as appId, found "shop"'],
  ["an address that is none", { ...APP, url: "here", token: "t" }, 'as url, found "here"'],
  ["an empty name of the device", { ...APP, deviceName: "", token: "t" }, "as deviceName"],
  ["an unknown policy", { ...APP, remote: "all", token: "t" }, 'as remote, found "all"'],
  ["no credential", APP, "expected token or login, found neither"],
  [
    "two credentials",
    { ...APP, token: "t", login: () => ({}) },
    "expected token or login, found both",
  ],
  ["a login that is none", { ...APP, login: "t" }, "expected a function as login, found"],
  ["a token that is no text", { ...APP, token: 1 }, "expected a text as token, found"],
  ["an empty name", { ...APP, token: "t", name: "" }, "expected a name of at most 100 characters"],
  ["a long name", { ...APP, token: "t", name: "n".repeat(101) }, "at most 100 characters"],
])("%s: refused", async (_, options, message) => {
  await expect(openPeer(options as PeerOptions)).rejects.toMatchObject({
    code: "config.invalid",
    message: expect.stringContaining(message),
  });
});

test("an engine for this page alone that cannot be loaded is named", async () => {
  vi.stubGlobal("addEventListener", () => {});
  vi.stubGlobal("removeEventListener", () => {});
  const request = (_: string, __: object, held: () => Promise<void>): Promise<void> => held();
  vi.stubGlobal("navigator", { userAgent: "", locks: { request } });
  const workerUrl = "data:text/javascript,throw new Error('offline')";
  await expect(openPeer({ ...APP, token: "t", memory: true, workerUrl })).rejects.toMatchObject({
    code: "config.invalid",
    message: `the worker of this peer cannot be loaded from ${new URL(workerUrl).href}`,
    cause: expect.objectContaining({ message: "offline" }),
  });
});
