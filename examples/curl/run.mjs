/**
 * Runs the examples of the data API: sends the calls of the .http files in this folder with curl and
 * compares each answer with the expected one. README.md shows how to run it.
 */
import { fileURLToPath } from "node:url";
import { orGiveUp, readQuickstart, runExamples } from "./example-run.mjs";

/** Reads the environment variables; quickstart.json of the server supplies the missing values. */
function readSettings({ BASE_URL, API_KEY, APP_ID, DATA_DIR, SHOW }) {
  const isNeeded = API_KEY === undefined || APP_ID === undefined;
  const quickstart = isNeeded ? readQuickstart(DATA_DIR, "API_KEY and APP_ID") : {};
  const baseUrl = BASE_URL ?? quickstart.dataUrl ?? "http://127.0.0.1:8080";
  return {
    baseUrl: baseUrl.replace(/\/$/, ""),
    apiKey: API_KEY ?? quickstart.apiKey,
    appId: APP_ID ?? quickstart.appId,
    isShown: SHOW === "1",
  };
}

orGiveUp("examples/curl", () => {
  const settings = readSettings(process.env);
  runExamples({
    folder: fileURLToPath(new URL(".", import.meta.url)),
    wanted: process.argv.slice(2),
    settings,
    variables: { API_KEY: settings.apiKey, APP_ID: settings.appId },
  });
});
