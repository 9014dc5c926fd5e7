/**
 * Login schemas: the bodies of the login for the OpenAPI document. A schema with a title becomes a
 * component there.
 */

import { AnyValue, type TSchema, Type } from "../validation/schema.ts";

/** Information of the provider for its client; null when there is none. */
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
