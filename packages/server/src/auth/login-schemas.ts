/**
 * The bodies of the login, for the OpenAPI document. A title names a schema that has a place of its
 * own there.
 */

import { AnyValue, type TSchema, Type } from "../schema.ts";

/** What the provider lets its client know; null when that is nothing. */
const ClientInfo = AnyValue;

const LoginRequest = Type.Object(
  { provider: Type.String({ minLength: 1 }), token: Type.String({ minLength: 1 }) },
  { title: "LoginRequest" },
);

const LoginResponse = Type.Object(
  {
    accessToken: Type.String(),
    accessExpiry: Type.String(),
    userId: Type.String(),
    clientInfo: ClientInfo,
  },
  { title: "LoginResponse" },
);

const LoginError = Type.Object(
  { message: Type.String(), clientInfo: Type.Optional(ClientInfo) },
  { title: "LoginError" },
);

export const LOGIN_SCHEMAS: readonly TSchema[] = [LoginRequest, LoginResponse, LoginError];
