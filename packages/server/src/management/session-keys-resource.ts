/**
 * Session key resource: `…/sessionKey/rotate` rotates the key that signs the sessions of an app
 * (M28). Session keys are never shown.
 */

import type { Resource } from "./management-endpoint.ts";

export const SESSION_KEY_RESOURCES: readonly Resource[] = [
  {
    name: "rotate_session_key",
    path: "/app/{app}/sessionKey/rotate",
    methods: {
      POST: async (call) => {
        await call.registry.apps.rotateSessionKey(call.parameter("app"), call.author);
        return null;
      },
    },
  },
];
