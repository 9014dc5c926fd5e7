/**
 * Events: who hears them, and that a listener that fails harms nobody.
 */
import { expect, test } from "vitest";
import { EventHub } from "../src/event-hub.ts";
import { until } from "./support/turns.ts";

test("a listener is called until it is removed, and the hub knows whether it has listeners", () => {
  const hub = new EventHub<{ readonly news: number }>(() => undefined);
  const heard: number[] = [];
  expect(hub.emit("news", 1)).toBe(false);
  const stop = hub.on("news", (news) => heard.push(news));
  expect(hub.emit("news", 2)).toBe(true);
  stop();
  expect(hub.emit("news", 3)).toBe(false);
  expect(heard).toEqual([2]);
});

test("a listener that throws, at once or as a promise, causes a warning of the host, and the others are called", async () => {
  const warnings: (Error | string)[] = [];
  const hub = new EventHub<{ readonly news: number }>((warning) => warnings.push(warning));
  const heard: number[] = [];
  hub.on("news", () => {
    throw new Error("at once");
  });
  hub.on("news", async () => Promise.reject(new Error("later")));
  hub.on("news", (news) => heard.push(news));
  hub.emit("news", 1);
  expect(heard).toEqual([1]);
  await until(() => warnings.length === 2);
  expect(warnings).toEqual([new Error("at once"), new Error("later")]);
});
