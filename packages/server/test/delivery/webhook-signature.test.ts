/** Signatures of webhooks, against the example of the libraries of Standard Webhooks. */

import { expect, test } from "vitest";
import { signatureHeaders } from "../../src/delivery/webhook-signature.ts";

const EXAMPLE = { id: "msg_p5jXN8AQM9LWM0D4loKWxJek", payload: '{"test": 2432232314}' };
const SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const SIGNATURE = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";

test("[M42] a delivery is signed as Standard Webhooks say", () => {
  expect(signatureHeaders(EXAMPLE, [SECRET], 1_614_265_330)).toEqual({
    "webhook-id": EXAMPLE.id,
    "webhook-timestamp": "1614265330",
    "webhook-signature": SIGNATURE,
  });
});

test("[M41] each secret signs", () => {
  const other = `whsec_${Buffer.alloc(24, 1).toString("base64")}`;
  const { "webhook-signature": text = "" } = signatureHeaders(
    EXAMPLE,
    [other, SECRET],
    1_614_265_330,
  );
  const [first, second, ...more] = text.split(" ");
  expect([second, more]).toEqual([SIGNATURE, []]);
  expect(first).toMatch(/^v1,[A-Za-z0-9+/]{43}=$/);
});
