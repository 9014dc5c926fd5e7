/**
 * Remote statements: the request for the chosen devices.
 */
import { expect, test } from "vitest";
import {
  type RemoteForm,
  remoteAdvice,
  remoteRequest,
} from "../src/pages/devices/remote-statement.ts";

const form: RemoteForm = {
  target: "all",
  device: "",
  condition: "",
  statement: " SELECT * FROM orders ",
  args: "",
};

test("a statement is for all devices, for one by its key, or for those of a condition", () => {
  expect(remoteRequest(form)).toEqual({
    statement: "SYNC CONTEXT ( PEERS ) SELECT * FROM orders",
    args: {},
  });
  expect(remoteRequest({ ...form, target: "one", device: "it's", args: '{"a": 1}' })).toEqual({
    statement:
      "SYNC CONTEXT ( PEERS WHERE peerKeyString = :bigpeerDeviceKey ) SELECT * FROM orders",
    args: { a: 1, bigpeerDeviceKey: "it's" },
  });
  const condition = " os = 'linux' ";
  expect(remoteRequest({ ...form, target: "condition", condition }).statement).toBe(
    "SYNC CONTEXT ( PEERS WHERE os = 'linux'\n) SELECT * FROM orders",
  );
});

test.each([
  [{ statement: " " }, "expected a statement"],
  [{ target: "one" }, "expected a device"],
  [{ target: "condition" }, "expected a condition"],
  [{ args: "{" }, "expected parameters in JSON"],
  [{ args: "[1]" }, "expected parameters as an object"],
] as const)("%j is refused: %s", (changes, message) => {
  expect(() => remoteRequest({ ...form, ...changes })).toThrow(message);
});

test("the code at the end of a failure says what to do", () => {
  expect(remoteAdvice("it left (remote.lost)")).toContain("left before it answered");
  expect(remoteAdvice("expected FROM (query.syntax)")).toBeUndefined();
  expect(remoteAdvice("no code")).toBeUndefined();
});
