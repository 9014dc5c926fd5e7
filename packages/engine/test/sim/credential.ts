/**
 * Credential: what a user of a simulated server signs in with, and what it may read and write now.
 */

import { Authority } from "../../src/query/permission/authority.ts";
import type { Random } from "../support/test-platform.ts";
import { type Rights, randomRights } from "./sim-rules.ts";

export interface Credential {
  readonly name: string;
  rights: Rights;
  /** All that it ever was. */
  readonly past: Rights[];
  authority: Authority | undefined;
  isRevoked: boolean;
  /** How long its tokens hold; undefined for ever. */
  readonly tokenMs: number | undefined;
}

export function newCredential(name: string, random: Random, isTokenEternal: boolean): Credential {
  const rights = randomRights(random);
  const tokenMs =
    !isTokenEternal && random.chance(0.25) ? 20_000 + random.below(60_000) : undefined;
  const credential: Credential = {
    name,
    rights,
    past: [rights],
    authority: undefined,
    isRevoked: false,
    tokenMs,
  };
  credential.authority = authorityOf(credential);
  return credential;
}

export function authorityOf({ name, rights }: Credential): Authority {
  return new Authority(rights.permissions, name);
}
