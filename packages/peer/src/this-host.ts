/**
 * This host: Node. The bundle for browsers has another file in the place of this one (scripts/sdk.mjs).
 */

import type { Host } from "./compat/host.ts";
import { compatHost } from "./node/compat-host.ts";

export const host: Host = compatHost;
