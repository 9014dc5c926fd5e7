/**
 * Compat host: what `@bigpeer/peer/compat` asks of a browser. The documents are in IndexedDB, so they
 * last; a persistence directory is the name of a store.
 */

import type { Host } from "../../compat/host.ts";
import { deviceOf } from "../user-agent.ts";
import { web } from "../web-globals.ts";
import { openPeer } from "./index.ts";

const NAME_SIZE_MAX = 100;

export const host: Host = {
  get deviceName() {
    return deviceOf(web.navigator.userAgent).deviceName;
  },
  rootDirectory: "",
  directoryOf: (directory) => directory.slice(-NAME_SIZE_MAX),
  open: ({ directory, ...options }) => openPeer({ ...options, name: directory }),
  diskUse: async () => (await web.navigator.storage?.estimate())?.usage ?? 0,
  print: (isProblem, line) => {
    // oxlint-disable-next-line no-console -- a browser shows a log nowhere else.
    (isProblem ? console.warn : console.info)(line);
  },
};
