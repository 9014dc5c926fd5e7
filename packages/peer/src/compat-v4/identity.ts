/**
 * Identity: how an app of version 4 says which app it is of, and how it logs in.
 */

import type { LoginResult } from "../compat/index.ts";

/** What a handler of version 4 logs in with. */
export interface LoginAuthenticator {
  login(token: string, provider: string): Promise<LoginResult>;
  /** The same, but it rejects if the login fails. */
  loginWithToken(token: string, provider: string): Promise<LoginResult>;
}

export interface AuthenticationHandler {
  /** Called for the first login, and after a session has ended. */
  authenticationRequired: (authenticator: LoginAuthenticator) => void | Promise<void>;
  /** Called before a session ends. */
  authenticationExpiringSoon?: (
    authenticator: LoginAuthenticator,
    secondsRemaining: number,
  ) => void | Promise<void>;
}

export interface IdentityOnlinePlayground {
  type: "onlinePlayground";
  appID: string;
  /** The token of the provider `development`. */
  token: string;
  /** Address of the Big Peer. Without it, that of `connect.websocketURLs`. */
  customAuthURL?: string;
  enableDittoCloudSync?: boolean;
}

export interface IdentityOnlineWithAuthentication {
  type: "onlineWithAuthentication";
  appID: string;
  authHandler: AuthenticationHandler;
  /** Address of the Big Peer. Without it, that of `connect.websocketURLs`. */
  customAuthURL?: string;
  enableDittoCloudSync?: boolean;
}

/** Without a server. */
export interface IdentityOfflinePlayground {
  type: "offlinePlayground";
  appID?: string;
  siteID?: number | bigint;
}

/** Without a server. */
export interface IdentitySharedKey {
  type: "sharedKey";
  appID: string;
  sharedKey: string;
  siteID?: number | bigint;
}

/** Without a server. */
export interface IdentityManual {
  type: "manual";
  certificate: string;
  appID?: string;
}

export type Identity =
  | IdentityOnlinePlayground
  | IdentityOnlineWithAuthentication
  | IdentityOfflinePlayground
  | IdentitySharedKey
  | IdentityManual;
