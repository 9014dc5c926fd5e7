/** The check of real nats-servers: what could lose entries is refused, with what to set. */

import { describe, expect, test } from "vitest";
import { SYSTEM_USER } from "../../../../../scripts/nats-cluster.mjs";
import { checkNats } from "../../../src/cluster/nats/nats-check.ts";
import { connectTo, useNatsCluster } from "../support/nats-cluster.ts";

describe("three servers as they should be", () => {
  const nats = useNatsCluster();

  test("are accepted by their monitoring", async () => {
    const { monitorUrls } = nats();
    expect(await checkNats(await connectTo(nats()), { monitorUrls })).toEqual([]);
  });

  test("are accepted by the system account", async () => {
    const system = await connectTo(nats(), SYSTEM_USER);
    expect(await checkNats(await connectTo(nats()), { system })).toEqual([]);
  });

  test("are refused without either, unless in development", async () => {
    const connection = await connectTo(nats());
    await expect(checkNats(connection, {})).rejects.toMatchObject({
      code: "config.invalid",
      message: expect.stringContaining("it is not known whether the NATS servers sync"),
    });
    const warnings = await checkNats(connection, { isDevelopment: true });
    expect(warnings).toEqual([expect.stringContaining("it is not known")]);
  });

  test("are refused if a minority is known", async () => {
    const monitorUrls = nats().monitorUrls.slice(0, 1);
    await expect(checkNats(await connectTo(nats()), { monitorUrls })).rejects.toThrow(
      "the state of 1 of 3 NATS servers is known",
    );
  });

  test("are accepted with a warning if one cannot be reached", async () => {
    const monitorUrls = [...nats().monitorUrls.slice(0, 2), "http://127.0.0.1:1"];
    const warnings = await checkNats(await connectTo(nats()), { monitorUrls });
    expect(warnings).toEqual([
      expect.stringContaining("failed to reach the NATS monitoring at http://127.0.0.1:1"),
    ]);
  });

  test("are refused if the user is not one of the system account", async () => {
    const connection = await connectTo(nats());
    await expect(checkNats(connection, { system: connection })).rejects.toThrow(
      "check that the user belongs to the `system_account`",
    );
  });
});

describe("one server without sync and with the default payload", () => {
  const nats = useNatsCluster({ size: 1, isSynced: false, maxPayload: "1MB" });

  test("is refused for each reason", async () => {
    const connection = await connectTo(nats());
    const { monitorUrls } = nats();
    await expect(checkNats(connection, { monitorUrls })).rejects.toThrow(
      "NATS server nats-1 accepts messages of at most 1048576 bytes, expected at least 4259840; set `max_payload: 8MB` in its configuration",
    );
    const warnings = await checkNats(connection, { monitorUrls, isDevelopment: true });
    expect(new Set(warnings)).toEqual(
      new Set([
        "NATS server nats-1 accepts messages of at most 1048576 bytes, expected at least 4259840; set `max_payload: 8MB` in its configuration",
        "expected a NATS cluster of at least 3 servers, found 1; run 3 nats-servers with the same `cluster { name, listen, routes }`",
        "NATS server nats-1 acknowledges before it syncs: a power failure would lose entries; set `sync_interval: always` in the `jetstream` block of its configuration",
      ]),
    );
  });
});

describe("three servers without sync", () => {
  const nats = useNatsCluster({ isSynced: false });

  test("are refused", async () => {
    const connection = await connectTo(nats());
    await expect(checkNats(connection, nats())).rejects.toThrow(
      "set `sync_interval: always` in the `jetstream` block of its configuration",
    );
  });
});
