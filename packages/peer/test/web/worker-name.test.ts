import { expect, test } from "vitest";
import { addressIn, workerName } from "../../src/web/worker-name.ts";

test("a worker finds its address in its name, whatever the name of the store is", () => {
  const address =
    "https://app.example/a%20b/bigpeer-loader.js#https%3A%2F%2Fapp.example%2Fworker.js";
  expect(addressIn(workerName("bigpeer:app:a store of Ann", address))).toBe(address);
});
