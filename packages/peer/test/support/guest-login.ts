/**
 * A provider of logins that lets guests in, for tests of logins.
 */

import { nodePlatform } from "@bigpeer/node";
import type { ValueObject } from "@bigpeer/protocol";
import { SERVER } from "../../../server/src/registry/audit-log.ts";
import { type AuthProviders, readProviders } from "../../../server/src/registry/auth-provider.ts";
import type { LoginDetails } from "../../src/index.ts";
import type { RealServer } from "./real-server.ts";

export const GUEST: LoginDetails = { provider: "guests", token: "come-in-and-welcome" };

const EVERYTHING = { everything: true };

/** Lets guests in with that token, for so many seconds. */
export async function provide({ running }: RealServer, sessionLength: number): Promise<void> {
  const permission = { read: EVERYTHING, write: EVERYTHING };
  const guests: ValueObject = {
    type: "anonymous",
    sharedToken: GUEST.token,
    sessionLength,
    permission,
  };
  const read = (): AuthProviders =>
    readProviders({ guests }, {}, (size) => nodePlatform.random(size));
  await running.registry.apps.setProviders("default", read, SERVER);
}
