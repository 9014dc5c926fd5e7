/**
 * Events: who hears them, and that a listener that fails harms nobody.
 */
import { expect, onTestFinished, test } from "vitest";
import { EventHub } from "../src/event-hub.ts";
import { until } from "./support/turns.ts";

/** What Node was warned of meanwhile. */
function listenForWarnings(): string[] {
  const warnings: string[] = [];
  const listen = (warning: Error): void => {
    warnings.push(warning.message);
  };
  process.on("warning", listen);
  onTestFinished(() => {
    process.off("warning", listen);
  });
  return warnings;
}

test("a listener is called until it is removed, and the hub knows whether it has listeners", () => {
  const hub = new EventHub<{ readonly news: number }>();
  const heard: number[] = [];
  expect(hub.emit("news", 1)).toBe(false);
  const stop = hub.on("news", (news) => heard.push(news));
  expect(hub.emit("news", 2)).toBe(true);
  stop();
  expect(hub.emit("news", 3)).toBe(false);
  expect(heard).toEqual([2]);
});

test("a listener that throws, at once or as a promise, causes a Node warning, and the others are called", async () => {
  const warnings = listenForWarnings();
  const hub = new EventHub<{ readonly news: number }>();
  const heard: number[] = [];
  hub.on("news", () => {
    throw new Error("at once");
  });
  hub.on("news", async () => Promise.reject(new Error("later")));
  hub.on("news", (news) => heard.push(news));
  hub.emit("news", 1);
  expect(heard).toEqual([1]);
  await until(() => warnings.length === 2);
  expect(warnings).toEqual(["at once", "later"]);
});
