/**
 * The server of the app: from the environment or a file `.env`, or else from the file that the first
 * start of the server wrote, so that on one machine nothing has to be typed.
 *
 * Each value may have one of several names. The last ones are those that apps of Ditto have.
 */
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** Where the other examples find it, too. */
const QUICKSTART = fileURLToPath(new URL("../../data/quickstart.json", import.meta.url));

const NAMES = {
  appId: ["BIGPEER_APP_ID", "DITTO_DATABASE_ID", "DITTO_APP_ID"],
  url: [
    "BIGPEER_URL",
    "DITTO_SERVER_URL",
    "DITTO_AUTH_URL",
    "DITTO_CUSTOM_AUTH_URL",
    "DITTO_WEBSOCKET_URL",
  ],
  apiKey: ["BIGPEER_API_KEY"],
  developmentToken: [
    "BIGPEER_DEVELOPMENT_TOKEN",
    "DITTO_DEVELOPMENT_TOKEN",
    "DITTO_PLAYGROUND_TOKEN",
  ],
};

/** The first letters of all names. */
export const PREFIXES = ["BIGPEER_", "DITTO_"];

/** `{ appId, url }` with `apiKey` or `developmentToken`. Throws if something is missing. */
export function readConnection(env) {
  const given = Object.fromEntries(
    Object.entries(NAMES).map(([field, names]) => [field, valueOf(names, env)]),
  );
  const isGiven = Object.values(given).some((value) => value !== undefined);
  return isGiven ? checked(given) : fromQuickstart(env.BIGPEER_QUICKSTART || QUICKSTART);
}

function valueOf(names, env) {
  return names.map((name) => env[name]?.trim()).find((value) => value);
}

function checked({ appId, url, apiKey, developmentToken }) {
  const lacks = { appId, url, apiKey: apiKey ?? developmentToken };
  const [missing] = Object.keys(lacks).filter((field) => lacks[field] === undefined);
  if (missing !== undefined) {
    const names =
      missing === "apiKey" ? [...NAMES.apiKey, ...NAMES.developmentToken] : NAMES[missing];
    throw new Error(`expected one of ${names.join(", ")} in the environment, found none`);
  }
  // The address of a WebSocket is that of its server.
  const address = (/^\w+:\/\//.test(url) ? url : `https://${url}`).replace(/^ws/, "http");
  const credential = apiKey === undefined ? { developmentToken } : { apiKey };
  return { appId, url: address.replace(/\/+$/, ""), ...credential };
}

function fromQuickstart(path) {
  if (!existsSync(path)) {
    throw new Error(
      `failed to find ${path}: start a server first (npm start), or set ${NAMES.appId[0]}, ${NAMES.url[0]} and ${NAMES.apiKey[0]}`,
    );
  }
  const { appId, dataUrl: url, apiKey } = JSON.parse(readFileSync(path, "utf8"));
  return { appId, url, apiKey };
}
