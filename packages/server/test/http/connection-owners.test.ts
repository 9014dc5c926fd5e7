/** What a credential may have of the connections of a listener. */

import { expect, test } from "vitest";
import { ConnectionOwners } from "../../src/http/connection-owners.ts";
import type { HttpConnection } from "../../src/http/http-connection.ts";

function connection(number: number, isProxy = false): HttpConnection {
  const end = `end ${number}`;
  return {
    end,
    remoteAddress: "192.0.2.1",
    isProxy,
    exchange: undefined,
    held: undefined,
    owner: undefined,
    notifiedOwner: undefined,
    notifiedMs: 0,
    isSurplus: false,
  };
}

test("[H45] one credential has a share of all connections, and gets it back", () => {
  let refusals = 0;
  const owners = new ConnectionOwners({
    max: 100,
    perAddressMax: 100,
    perOwnerMax: 2,
    elapsed: () => 0,
    onOwnerRefused: () => refusals++,
  });
  const [first, second, third, other, proxy] = [1, 2, 3, 4, 5].map((n) => connection(n, n === 5));
  if (!first || !second || !third || !other || !proxy) throw new Error("expected five");
  for (const each of [first, second, first]) owners.identify(each, "a");
  expect(() => owners.identify(third, "a")).toThrow(expect.objectContaining({ status: 503 }));
  expect([third.isSurplus, refusals]).toEqual([true, 1]);
  owners.identify(other, "b");
  owners.identify(proxy, "a");
  owners.remove(first);
  owners.remove(proxy);
  owners.identify(third, "a");
  expect(third.owner).toBe("a");
});
