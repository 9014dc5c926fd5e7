/**
 * Rules that name the caller, over real connections: a server, small peers, tokens of an identity
 * provider and a webhook.
 */
import { nodePlatform } from "@bigpeer/node";
import type { ValueObject } from "@bigpeer/protocol";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../node/test/support/temporary-folder.ts";
import { SERVER } from "../../server/src/registry/audit-log.ts";
import { type AuthProviders, readProviders } from "../../server/src/registry/auth-provider.ts";
import { answeringServer } from "../../server/test/support/answering-server.ts";
import { secretToken } from "../../server/test/support/signed-token.ts";
import type { Peer } from "../src/index.ts";
import { idsOf, insert, TASKS, whenTasks } from "./support/peer-status.ts";
import { type RealServer, startRealServer } from "./support/real-server.ts";
import { until } from "./support/turns.ts";

const SECRET = "a secret of thirty-two bytes, or more";
const SUBSCRIPTION = "SELECT * FROM tasks";
/** Seconds since 1970, far from now. */
const NEVER = 4_102_444_800;

const OF_TEAM = { queriesByCollection: { tasks: ["team == :claims.team", "owner == :userId"] } };

async function provide({ running }: RealServer, provider: ValueObject): Promise<void> {
  const read = (): AuthProviders =>
    readProviders({ idp: provider }, {}, (size) => nodePlatform.random(size));
  await running.registry.apps.setProviders("default", read, SERVER);
}

/** A token of a user with these claims. */
function tokenWith({ content }: RealServer, claims: ValueObject): string {
  return secretToken({ aud: content.appId, sub: "ann", exp: NEVER, ...claims }, SECRET);
}

/** A server with a provider of tokens, and a peer that may do everything. */
async function serveTeams(): Promise<{ readonly server: RealServer; readonly writer: Peer }> {
  const server = await startRealServer();
  const permission = { read: OF_TEAM, write: OF_TEAM };
  await provide(server, { type: "jwt", secret: SECRET, permission });
  const writer = await server.peer();
  writer.sync.registerSubscription(SUBSCRIPTION);
  for (const team of ["red", "blue"]) await insert(writer, `${team} 1`, { team });
  await insert(writer, "zoe's", { team: "green", owner: "zoe" });
  await insert(writer, "ann's", { team: "green", owner: "ann" });
  writer.sync.start();
  return { server, writer };
}

function setTeam(writer: Peer, id: string, team: string): Promise<unknown> {
  const text = "UPDATE tasks SET team = :team WHERE _id = :id";
  return writer.store.execute(text, { id, team });
}

test("[P22] a rule with :claims decides on live changes of a subscription", async () => {
  const { server, writer } = await serveTeams();
  const peer = await server.peer({ token: tokenWith(server, { team: "red" }) });
  peer.sync.registerSubscription(SUBSCRIPTION);
  peer.sync.start();
  await whenTasks(peer, ["ann's", "red 1"]);
  // In order: when the later one is there, the earlier one was left out.
  await insert(writer, "blue 2", { team: "blue" });
  await insert(writer, "red 2", { team: "red" });
  await whenTasks(peer, ["ann's", "red 1", "red 2"]);
  await setTeam(writer, "blue 2", "red");
  await whenTasks(peer, ["ann's", "blue 2", "red 1", "red 2"]);
  await setTeam(writer, "red 1", "blue");
  await whenTasks(peer, ["ann's", "blue 2", "red 2"]);
  await setTeam(writer, "ann's", "blue");
  await writer.store.execute("UPDATE tasks SET owner = 'zoe' WHERE _id = 'ann\\'s'");
  await whenTasks(peer, ["blue 2", "red 2"]);
  expect(await idsOf(writer)).toHaveLength(6);
});

test("[P22] [S20] [S21] other claims on the next connection change the rights to read and to write", async () => {
  const { server, writer } = await serveTeams();
  const folder = temporaryFolder();
  const asRed = await server.peer({ folder, token: tokenWith(server, { team: "red" }) });
  asRed.sync.registerSubscription(SUBSCRIPTION);
  asRed.sync.start();
  await whenTasks(asRed, ["ann's", "red 1"]);
  await insert(asRed, "red 2", { team: "red" });
  await whenTasks(writer, ["ann's", "blue 1", "red 1", "red 2", "zoe's"]);
  await asRed.close();

  const asBlue = await server.peer({ folder, token: tokenWith(server, { team: "blue" }) });
  // What the folder holds is there until the server says otherwise.
  expect(await idsOf(asBlue)).toEqual(["ann's", "red 1", "red 2"]);
  asBlue.sync.registerSubscription(SUBSCRIPTION);
  asBlue.sync.start();
  await whenTasks(asBlue, ["ann's", "blue 1"]);
  await insert(writer, "red 3", { team: "red" });
  await insert(writer, "blue 3", { team: "blue" });
  await whenTasks(asBlue, ["ann's", "blue 1", "blue 3"]);

  // A write of the team of before is refused and taken back; one of the new team is not.
  asBlue.on("error", () => {});
  await insert(asBlue, "red 4", { team: "red" });
  await insert(asBlue, "blue 4", { team: "blue" });
  await until(async () => (await idsOf(writer)).includes("blue 4"));
  expect(await idsOf(writer)).not.toContain("red 4");
  await whenTasks(asBlue, ["ann's", "blue 1", "blue 3", "blue 4"]);
});

test("[P22] [A16] queries in the answer of a webhook can use the user and its claims", async () => {
  const { server, writer } = await serveTeams();
  const webhook = await answeringServer(({ body }) => {
    const { token } = JSON.parse(body) as { readonly token: string };
    const [userID, team] = token.split(" of ");
    return {
      body: {
        authenticated: true,
        userID,
        expirationSeconds: 600,
        permissions: { read: OF_TEAM, write: OF_TEAM },
        identityServiceMetadata: { team },
      },
    };
  });
  await provide(server, { type: "tokenWebhook", webhookUrl: webhook.url });
  const logIn = async (token: string): Promise<Peer> => {
    const login = (): { provider: string; token: string } => ({ provider: "idp", token });
    const peer = await server.peer({ login });
    peer.sync.registerSubscription(SUBSCRIPTION);
    peer.sync.start();
    return peer;
  };
  const [ann, zoe] = await Promise.all([logIn("ann of red"), logIn("zoe of blue")]);
  await whenTasks(ann, ["ann's", "red 1"]);
  await whenTasks(zoe, ["blue 1", "zoe's"]);
  await setTeam(writer, "red 1", "blue");
  await whenTasks(ann, ["ann's"]);
  await whenTasks(zoe, ["blue 1", "red 1", "zoe's"]);
  expect((await zoe.store.execute(TASKS)).items).toHaveLength(3);
});
