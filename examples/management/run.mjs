/**
 * Runs the examples of the management API: sends the calls of the .http files in this folder with curl and
 * compares each answer with the expected one. README.md shows how to run it.
 */
import { fileURLToPath } from "node:url";
import { orGiveUp, readQuickstart, runExamples } from "../curl/example-run.mjs";

orGiveUp("examples/management", () => {
  const { DATA_DIR, ADMIN_TOKEN, MANAGEMENT_URL, DATA_URL, SHOW } = process.env;
  const isNeeded = MANAGEMENT_URL === undefined || DATA_URL === undefined;
  const found = isNeeded ? readQuickstart(DATA_DIR, "MANAGEMENT_URL and DATA_URL") : {};
  const baseUrl = MANAGEMENT_URL ?? found.managementUrl ?? "http://127.0.0.1:8081";
  runExamples({
    folder: fileURLToPath(new URL(".", import.meta.url)),
    wanted: process.argv.slice(2),
    settings: { baseUrl, apiKey: ADMIN_TOKEN, isShown: SHOW === "1" },
    variables: {
      N: process.env.BIG_PEER ?? "/namespace/default/bigPeer/big-peer",
      DATA_URL: DATA_URL ?? found.dataUrl,
    },
  });
});
