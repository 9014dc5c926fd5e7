/**
 * Credentials: from the text after `Bearer` to who that is. An API key of the registry, a session
 * of an app, or a token that one of an app's `jwt` providers has signed.
 *
 * What was found is remembered until the registry changes, so that the next request with the same
 * text is a look-up.
 */

import type { Permissions } from "@bigpeer/engine";
import { Refusal } from "../http/refusal.ts";
import { type Credential, createCredential, userCredentialId } from "./credential.ts";
import { peekToken } from "./json-web-token.ts";
import type { ProviderTokens } from "./provider-tokens.ts";
import { type AuthApp, verifySession } from "./session.ts";

/** A key as the registry finds it: the same object for the same text until the registry changes. */
export interface FoundKey {
  readonly id: string;
  readonly appId: string;
  readonly permissions: Permissions;
}

/** The registry as authentication sees it. */
export interface AuthRegistry {
  readonly keys: { find(text: string): FoundKey | undefined };
  /** An app is the same object until the registry changes. */
  readonly apps: { get(id: string): AuthApp | undefined };
}

/** Whom a text stands for. */
export interface Bearer {
  readonly appId: string;
  readonly credential: Credential;
}

export interface CredentialsHost {
  readonly tokens: Pick<ProviderTokens, "verify">;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

const KEY_START = "bp_";

/** Tokens that are remembered, and their characters; beyond it the first are forgotten. */
const KNOWN_MAX = 10_000;
const KNOWN_LENGTH_MAX: number = 16 * 1024 * 1024;

/** How long a token is believed without verifying it again: keys may be taken back. */
const KNOWN_MS_MAX = 10 * 60_000;

interface KnownToken {
  readonly bearer: Bearer;
  /** As of which state of the registry. */
  readonly app: AuthApp;
  readonly untilMs: number;
}

/** A token that was verified. */
interface Verified {
  readonly id: string;
  readonly permissions: Permissions;
  readonly expiresAt: number;
}

export class Credentials {
  readonly #host: CredentialsHost;
  readonly #ofKeys = new WeakMap<FoundKey, Bearer>();
  readonly #known = new Map<string, KnownToken>();
  #knownLength = 0;

  constructor(host: CredentialsHost) {
    this.#host = host;
  }

  /** How many tokens are remembered. */
  get count(): number {
    return this.#known.size;
  }

  /**
   * Undefined when nobody is known by this text. With `appId` it must be about that app. A promise
   * only where something must be verified; it may reject with a Refusal.
   */
  find(
    registry: AuthRegistry,
    text: string,
    appId: string | undefined,
  ): Bearer | undefined | Promise<Bearer | undefined> {
    const app = appId?.toLowerCase();
    if (text.startsWith(KEY_START)) {
      const found = this.#ofKey(registry.keys.find(text));
      return app === undefined || found?.appId === app ? found : undefined;
    }
    return this.#remembered(registry, text, app) ?? this.#verify(registry, text, app);
  }

  #ofKey(key: FoundKey | undefined): Bearer | undefined {
    if (key === undefined) return undefined;
    const known = this.#ofKeys.get(key);
    if (known !== undefined) return known;
    const { id, appId, permissions } = key;
    const made = { appId, credential: createCredential(id, permissions) };
    this.#ofKeys.set(key, made);
    return made;
  }

  #remembered(registry: AuthRegistry, text: string, appId: string | undefined): Bearer | undefined {
    const known = this.#known.get(text);
    if (known === undefined) return undefined;
    const { app, bearer, untilMs } = known;
    if (appId !== undefined && appId !== app.id) return undefined;
    if (this.#host.now() < untilMs && registry.apps.get(app.id) === app) return bearer;
    this.#forget(text);
    return undefined;
  }

  async #verify(
    registry: AuthRegistry,
    text: string,
    appId: string | undefined,
  ): Promise<Bearer | undefined> {
    const { audiences = [], issuer } = peekToken(text) ?? {};
    const id = audiences.find((one) => {
      return (appId === undefined || one === appId) && registry.apps.get(one) !== undefined;
    });
    const app = id === undefined ? undefined : registry.apps.get(id);
    if (app === undefined) return undefined;
    const verified =
      (await this.#session(app, text)) ?? (await this.#ofProvider(app, text, issuer));
    if (verified === undefined) return undefined;
    const credential = createCredential(verified.id, verified.permissions);
    const bearer = { appId: app.id, credential };
    this.#remember(text, { bearer, app, untilMs: this.#untilMs(verified) });
    return bearer;
  }

  async #session(app: AuthApp, text: string): Promise<Verified | undefined> {
    const session = await verifySession(app, text, this.#host.now());
    if (session === undefined) return undefined;
    const { provider, userId, permissions, expiresAt } = session;
    return { id: userCredentialId("session", provider, userId), permissions, expiresAt };
  }

  /** One provider that cannot be asked must not keep out what another has signed. */
  async #ofProvider(
    { id: appId, authProviders }: AuthApp,
    text: string,
    issuer: string | undefined,
  ): Promise<Verified | undefined> {
    let refusal: Refusal | undefined;
    for (const [name, provider] of Object.entries(authProviders)) {
      if (provider.type !== "jwt") continue;
      if (provider.issuer !== undefined && provider.issuer !== issuer) continue;
      try {
        const user = await this.#host.tokens.verify(text, provider, appId);
        if (user === undefined) continue;
        const { userId, permissions, expiresAt } = user;
        return { id: userCredentialId("jwt", name, userId), permissions, expiresAt };
      } catch (error) {
        if (!(error instanceof Refusal)) throw error;
        refusal ??= error;
      }
    }
    if (refusal !== undefined) throw refusal;
    return undefined;
  }

  #untilMs({ expiresAt }: Verified): number {
    return Math.min(expiresAt * 1000, this.#host.now() + KNOWN_MS_MAX);
  }

  #remember(text: string, known: KnownToken): void {
    if (known.untilMs <= this.#host.now()) return;
    // Another request may have been faster.
    this.#forget(text);
    this.#known.set(text, known);
    this.#knownLength += text.length;
    for (const first of this.#known.keys()) {
      if (this.#known.size <= KNOWN_MAX && this.#knownLength <= KNOWN_LENGTH_MAX) return;
      this.#forget(first);
    }
  }

  #forget(text: string): void {
    if (this.#known.delete(text)) this.#knownLength -= text.length;
  }
}
