/**
 * Login path: the login operation in the OpenAPI document. It needs no credential and its path
 * begins with the app, so it has its own server and security entries.
 */

import type { ValueObject } from "@bigpeer/protocol";
import { schemaReference } from "./component-schemas.ts";
import { examplesOf, failureResponses, responseOf, valueContent } from "./responses.ts";

const JSON_TYPE = "application/json";
const FORM_TYPE = "application/x-www-form-urlencoded";

const EXAMPLES = [
  {
    name: "provider",
    summary: "A token that the provider of the app knows",
    request: { provider: "staff", token: "what the user has shown" },
    response: {
      accessToken: "eyJhbGciOiJIUzI1NiJ9.…",
      accessExpiry: "2030-12-31T23:59:59.000Z",
      userId: "user-1",
      clientInfo: null,
    },
  },
];

/** `serverUrl` is empty when the server has the same URL as the document. */
export function loginPaths(serverUrl: string): ValueObject {
  const post: ValueObject = {
    operationId: "login",
    tags: ["auth"],
    summary: "Log in",
    description:
      "A session for a token of one of the app's auth providers. The session is a credential of " +
      "all other operations until `accessExpiry`.",
    servers: [{ url: serverUrl === "" ? "/" : serverUrl, description: "The app is in the path." }],
    security: [],
    parameters: [
      {
        name: "appId",
        in: "path",
        required: true,
        description: "The id of the app.",
        schema: { type: "string" },
      },
    ],
    requestBody: {
      required: true,
      content: valueContent({
        types: [JSON_TYPE, FORM_TYPE],
        schema: schemaReference("LoginRequest"),
        examples: examplesOf(EXAMPLES, "request"),
      }),
    },
    responses: {
      200: responseOf(
        "The session.",
        valueContent({
          types: [JSON_TYPE],
          schema: schemaReference("LoginResponse"),
          examples: examplesOf(EXAMPLES, "response"),
        }),
      ),
      ...failureResponses({
        statuses: [400, 408, 413, 415, 500],
        others: {
          401: "The app, the provider or the token is not known; or the provider says no.",
          411: "The length of the body is not announced.",
          429: "Too many wrong tokens came from this address.",
          503: "The provider cannot be asked now, or the server is starting, closing or busy.",
        },
        content: valueContent({ types: [JSON_TYPE], schema: schemaReference("LoginError") }),
        example: { message: "expected text at token (value.invalid)" },
      }),
    },
  };
  return { "/{appId}/auth/login": { post } };
}
