/**
 * Credentials: resolves a bearer token to its app and permissions. The token is an API key, a
 * session of an app, or a JWT that a `jwt` provider of an app verifies.
 *
 * Results are cached until the registry changes, so repeating a token costs only a lookup.
 */

import type { Permissions } from "@bigpeer/engine/query";
import type { ValueObject } from "@bigpeer/protocol";
import { Refusal } from "../http/refusal.ts";
import type { ApiKeys, KnownKey } from "../registry/api-keys.ts";
import { providerNamed } from "../registry/auth-provider.ts";
import { type Credential, createCredential, userCredentialId } from "./credential.ts";
import { peekToken } from "./json-web-token.ts";
import { leewayOf, type NoteReason, type ProviderTokens } from "./provider-tokens.ts";
import { type AuthApp, verifySession } from "./session.ts";
import { unauthorized } from "./unauthorized.ts";

/** The registry as authentication uses it. Keys and apps are the same objects until they change. */
export interface AuthRegistry {
  readonly keys: Pick<ApiKeys, "find">;
  readonly apps: { get(id: string): AuthApp | undefined };
}

/** Caller that a credential identifies. */
export interface Bearer {
  readonly appId: string;
  readonly credential: Credential;
  /** Expiry in milliseconds since 1970; Infinity without expiry. */
  readonly expiresAtMs: number;
  /** User that the provider named, with its metadata; undefined for an API key. */
  readonly userId?: string | undefined;
  readonly identity?: ValueObject | undefined;
}

export interface CredentialsHost {
  readonly tokens: Pick<ProviderTokens, "verify">;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

const KEY_START = "bp_";

const SEVERAL_APPS =
  "the token is for several apps: the path must name one, as in /{appId}/api/v4/…";

const NO_APP =
  "its aud names no app of this server, or another than the path; a provider with an audience of its own needs the app in the path";

/** Cached tokens, and their total characters; beyond either the oldest are evicted. */
const KNOWN_MAX = 10_000;
const KNOWN_LENGTH_MAX: number = 16 * 1024 * 1024;

/** How long a token is cached without verification: its key may be revoked. */
const KNOWN_MS_MAX = 10 * 60_000;

interface KnownToken {
  readonly bearer: Bearer;
  /** The app when the token was verified; a changed app invalidates the entry. */
  readonly app: AuthApp;
  readonly untilMs: number;
}

/** Result of a successful verification. */
interface Verified {
  readonly id: string;
  readonly provider: string;
  readonly userId: string;
  readonly identity: ValueObject | undefined;
  readonly permissions: Permissions;
  readonly expiresAt: number;
  /** Extra time after expiry, to allow for clock skew of the issuer. */
  readonly leewaySeconds: number;
}

export class Credentials {
  readonly #host: CredentialsHost;
  readonly #ofKeys = new WeakMap<KnownKey, Bearer>();
  /** By text; tokens for several apps by app and text, see `keyFor`. */
  readonly #known = new Map<string, KnownToken>();
  #knownLength = 0;

  constructor(host: CredentialsHost) {
    this.#host = host;
  }

  /** Number of cached tokens. */
  get count(): number {
    return this.#known.size;
  }

  /**
   * Returns undefined for an unknown credential, or one of another app than `appId`. Returns a
   * promise only when a token must be verified; it may reject with a Refusal. `note` is called with
   * the reason why a token is refused.
   */
  find(
    registry: AuthRegistry,
    text: string,
    appId: string | undefined,
    note: NoteReason = () => {},
  ): Bearer | undefined | Promise<Bearer | undefined> {
    const app = appId?.toLowerCase();
    if (text.startsWith(KEY_START)) {
      const found = this.#ofKey(registry.keys.find(text));
      return app === undefined || found?.appId === app ? found : undefined;
    }
    return this.#remembered(registry, text, app) ?? this.#verify(registry, text, app, note);
  }

  #ofKey(key: KnownKey | undefined): Bearer | undefined {
    if (key === undefined) return undefined;
    const known = this.#ofKeys.get(key);
    if (known !== undefined) return known;
    const { id, name, appId, permissions, until } = key;
    const credential = createCredential(id, permissions, { credential: name });
    const made = { appId, credential, expiresAtMs: until };
    this.#ofKeys.set(key, made);
    return made;
  }

  #remembered(registry: AuthRegistry, text: string, appId: string | undefined): Bearer | undefined {
    let key = text;
    let known = this.#known.get(key);
    if (known === undefined && appId !== undefined) {
      key = keyFor(appId, text);
      known = this.#known.get(key);
    }
    if (known === undefined) return undefined;
    const { app, bearer, untilMs } = known;
    if (appId !== undefined && appId !== app.id) return undefined;
    if (this.#host.now() < untilMs && registry.apps.get(app.id) === app) return bearer;
    this.#forget(key);
    return undefined;
  }

  async #verify(
    registry: AuthRegistry,
    text: string,
    appId: string | undefined,
    note: NoteReason,
  ): Promise<Bearer | undefined> {
    const token = peekToken(text);
    const { audiences = [], issuer } = token ?? {};
    const named = [...new Set(audiences)].flatMap((one) => registry.apps.get(one) ?? []);
    // The app in the path may have a provider with an audience of its own (A23).
    const asked = appId === undefined ? undefined : registry.apps.get(appId);
    const isAsked = asked !== undefined && hasAudience(asked, audiences) && !named.includes(asked);
    const apps = isAsked ? [asked] : named;
    if (token === undefined) note("it is no JWT");
    else if (!apps.some(({ id }) => appId === undefined || id === appId)) note(NO_APP);
    const isForSeveral = named.length > 1 || isAsked;
    for (const app of apps) {
      if (appId !== undefined && appId !== app.id) continue;
      const verified =
        (await this.#session(app, text)) ?? (await this.#ofProvider(app, text, issuer, note));
      if (verified === undefined) continue;
      // Only after verification: a forged token must not reveal which apps exist.
      if (isForSeveral && appId === undefined) throw unauthorized(SEVERAL_APPS);
      const { id, provider, userId, permissions, identity, expiresAt, leewaySeconds } = verified;
      const credential = createCredential(id, permissions, { provider, user: userId });
      const expiresAtMs = (expiresAt + leewaySeconds) * 1000;
      const bearer = { appId: app.id, credential, expiresAtMs, userId, identity };
      const key = isForSeveral ? keyFor(app.id, text) : text;
      this.#remember(key, { bearer, app, untilMs: this.#untilMs(verified) });
      return bearer;
    }
    return undefined;
  }

  async #session(app: AuthApp, text: string): Promise<Verified | undefined> {
    const session = await verifySession(app, text, this.#host.now());
    if (session === undefined) return undefined;
    const { provider, userId, permissions, identity, expiresAt } = session;
    // A user has the same id with a JWT and with the session obtained for it.
    const isJwt = providerNamed(app.authProviders, provider)?.type === "jwt";
    const id = userCredentialId(isJwt ? "jwt" : "session", provider, userId);
    return { id, provider, userId, identity, permissions, expiresAt, leewaySeconds: 0 };
  }

  /** A provider that is unavailable must not block tokens of another provider. */
  async #ofProvider(
    { id: appId, authProviders }: AuthApp,
    text: string,
    issuer: string | undefined,
    note: NoteReason,
  ): Promise<Verified | undefined> {
    let refusal: Refusal | undefined;
    for (const [name, provider] of Object.entries(authProviders)) {
      if (provider.type !== "jwt") continue;
      const noteOf = (reason: string): void => note(`${reason} (provider ${name})`);
      if (provider.issuer !== undefined && provider.issuer !== issuer) {
        noteOf("its iss is not the issuer of the provider");
        continue;
      }
      try {
        const user = await this.#host.tokens.verify(text, provider, appId, noteOf);
        if (user === undefined) continue;
        const { userId, permissions, identity, expiresAt } = user;
        const id = userCredentialId("jwt", name, userId);
        const leewaySeconds = leewayOf(provider);
        return { id, provider: name, userId, identity, permissions, expiresAt, leewaySeconds };
      } catch (error) {
        if (!(error instanceof Refusal)) throw error;
        noteOf(error.message);
        refusal ??= error;
      }
    }
    if (refusal !== undefined) throw refusal;
    return undefined;
  }

  #untilMs({ expiresAt }: Verified): number {
    return Math.min(expiresAt * 1000, this.#host.now() + KNOWN_MS_MAX);
  }

  #remember(key: string, known: KnownToken): void {
    if (known.untilMs <= this.#host.now()) return;
    // A concurrent request may have cached it.
    this.#forget(key);
    this.#known.set(key, known);
    this.#knownLength += key.length;
    for (const first of this.#known.keys()) {
      if (this.#known.size <= KNOWN_MAX && this.#knownLength <= KNOWN_LENGTH_MAX) return;
      this.#forget(first);
    }
  }

  #forget(key: string): void {
    if (this.#known.delete(key)) this.#knownLength -= key.length;
  }
}

/** Cache key of a token for several apps: the result depends on the app. Tokens have no spaces. */
function keyFor(appId: string, text: string): string {
  return `${appId} ${text}`;
}

/** Whether a `jwt` provider of the app accepts one of these audiences. */
function hasAudience({ authProviders }: AuthApp, audiences: readonly string[]): boolean {
  return Object.values(authProviders).some((provider) => {
    return provider.type === "jwt" && provider.audience?.some((one) => audiences.includes(one));
  });
}
