/**
 * Runs the built command `bigpeer`, with the words after the name of this script: `npm start` and
 * `npm run bigpeer`. A signal to npm stops the server too.
 */
import { stopWithParent } from "./parent-watch.mjs";

stopWithParent();
await import("../packages/bigpeer/dist/main.js");
