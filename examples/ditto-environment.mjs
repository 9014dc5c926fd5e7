// The connection of an app in the names of environment variables that apps of the reference SDK have,
// today's and older ones. Undefined if they are not set.
export function fromEnvironment(env = process.env) {
  const appId = env.DITTO_DATABASE_ID || env.DITTO_APP_ID;
  const token = env.DITTO_DEVELOPMENT_TOKEN || env.DITTO_PLAYGROUND_TOKEN;
  const url =
    env.DITTO_SERVER_URL ||
    env.DITTO_CUSTOM_AUTH_URL ||
    env.DITTO_AUTH_URL ||
    env.DITTO_WEBSOCKET_URL;
  if (!appId || !token || !url) return undefined;
  return { appId, url, login: () => ({ provider: "development", token }) };
}
