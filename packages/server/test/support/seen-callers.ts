/**
 * Callers for the fuzz of see as: API keys, and users of auth providers whose rules name them. Each
 * has a token for its own requests, and the ways in which the console names it.
 */

import { type AccessRule, permissionsValue, readPermissions } from "@bigpeer/engine/query";
import type { Value, ValueObject } from "@bigpeer/protocol";
import { COLLECTIONS, type FuzzWorld } from "../../../engine/test/support/permission-fuzz.ts";
import { Random } from "../../../engine/test/support/random.ts";
import { SERVER } from "../../src/registry/audit-log.ts";
import { readProviders } from "../../src/registry/auth-provider.ts";
import type { RunningServer } from "../../src/server.ts";
import { secretToken } from "./signed-token.ts";

export interface SeenCaller {
  /** Opens the data API. */
  readonly token: string;
  /** Values of `as`, each for this caller. */
  readonly as: readonly ValueObject[];
  /** Its id, when it is a user; documents may have it as their owner. */
  readonly userId?: string;
}

export interface SeenApp {
  readonly server: RunningServer;
  readonly id: string;
  readonly name: string;
}

const SECRET = "a secret of the tests that is long enough";
const SHARED_TOKEN = "open sesame, please";

/** Queries that name the caller; some name a claim that a token does not have. */
const CALLER_QUERIES: readonly string[] = [
  "owner == :userId",
  "owner != :userId",
  "owner == :claims.sub",
  "owner IN :claims.owners",
  "owner IN (:userId, 'all')",
  "a == :claims.a",
  "hits > :claims.level",
  "_id.u == :userId",
  "owner == :claims.org.team",
  "owner == :claims.missing",
  "owner == :claims.missing || hits > 1",
  ":claims.level > 1",
];

export async function keyCallers(app: SeenApp, world: FuzzWorld): Promise<readonly SeenCaller[]> {
  const permissions = { read: world.read, write: world.write, remoteQuery: false };
  const key = { name: "seen", permissions };
  const token = await app.server.registry.keys.create(app.id, key, SERVER);
  return [{ token, as: [{ key: "seen" }, { permissions: permissionsValue(permissions) }] }];
}

/** A user with a JWT of its own, and an anonymous one. */
export async function userCallers(app: SeenApp, world: FuzzWorld): Promise<readonly SeenCaller[]> {
  const random = new Random(world.seed ^ 0xca11);
  const draw = (): ValueObject => drawPermissions(random, world);
  const own = draw();
  const providers: ValueObject = {
    users: { type: "jwt", secret: SECRET, permission: own },
    guests: { type: "anonymous", permission: own, sharedToken: SHARED_TOKEN, sessionLength: 600 },
  };
  const read = () => readProviders(providers, {}, randomBytes);
  await app.server.registry.apps.setProviders(app.name, read, SERVER);
  const brought = random.oneIn(3) ? draw() : undefined;
  const userId = random.pick(["ada", "bob"]);
  const claims = { sub: userId, ...claimsOf(random, brought) };
  const permissions = brought ?? own;
  return [jwtCaller(app, { userId, claims, permissions }), await guest(app, own)];
}

interface JwtUser {
  readonly userId: string;
  readonly claims: ValueObject;
  readonly permissions: ValueObject;
}

function jwtCaller(app: SeenApp, { userId, claims, permissions }: JwtUser): SeenCaller {
  const exp = Math.floor(Date.now() / 1000) + 600;
  return {
    token: secretToken({ ...claims, aud: app.id, exp }, SECRET),
    userId,
    as: [
      { provider: "users", claims },
      { provider: "users", userId, claims },
      { permissions, userId, claims },
    ],
  };
}

async function guest({ server, id }: SeenApp, permissions: ValueObject): Promise<SeenCaller> {
  const response = await fetch(`${server.url}/${id}/auth/login`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ provider: "guests", token: SHARED_TOKEN }),
  });
  const { accessToken, userId } = (await response.json()) as Record<string, string>;
  if (accessToken === undefined || userId === undefined) throw new Error("no session");
  return {
    token: accessToken,
    userId,
    as: [
      { provider: "guests", userId },
      { permissions, userId },
    ],
  };
}

function claimsOf(random: Random, permissions: ValueObject | undefined): ValueObject {
  return {
    owners: random.pick<Value>([["ada", "all"], [], ["bob"], "ada"]),
    a: random.pick<Value>([1, 2, null, "a"]),
    level: random.below(4),
    org: { team: random.pick(["ada", "bob", "all"]) },
    ...(permissions !== undefined && { permissions }),
  };
}

function drawPermissions(random: Random, { read, write }: FuzzWorld): ValueObject {
  const ruleFor = (rule: AccessRule): AccessRule => namingCaller(random, rule);
  return permissionsValue({ read: ruleFor(read), write: ruleFor(write), remoteQuery: false });
}

/** The rule with queries that name the caller in place of, or beside, some of its own. */
function namingCaller(random: Random, rule: AccessRule): AccessRule {
  const before = rule.everything ? {} : rule.queriesByCollection;
  const names = rule.everything ? COLLECTIONS : Object.keys(before);
  const queriesOf = (name: string): readonly string[] => {
    const own = (before[name] ?? []).filter(isOfUsers);
    if (random.oneIn(4)) return own;
    const added = random.pick(CALLER_QUERIES);
    return own.length === 0 || random.oneIn(2) ? [added] : [...own.slice(1), added];
  };
  const entries = names.map((name): [string, readonly string[]] => [name, queriesOf(name)]);
  return { everything: false, queriesByCollection: Object.fromEntries(entries) };
}

/** Whether a provider may have the query: keys may also have constants, such as `false`. */
function isOfUsers(query: string): boolean {
  const read = { queriesByCollection: { things: [query] } };
  try {
    readPermissions({ read }, "permissions", { isOfUsers: true, isSaved: true });
    return true;
  } catch {
    return false;
  }
}

function randomBytes(size: number): Uint8Array {
  return crypto.getRandomValues(new Uint8Array(size));
}
