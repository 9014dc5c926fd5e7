/**
 * Management site: the pages of the management listener beside its API: the API to read and to try,
 * and the web console.
 */

import { managementPages } from "../documentation/management-pages.ts";
import type { ManagementOptions } from "../management/management-server.ts";
import { consoleFilesEndpoint } from "./console-files.ts";

/** `version` is that of the program. */
export function managementSite(
  version: string,
): Required<Pick<ManagementOptions, "pages" | "consoleFiles">> {
  return {
    pages: managementPages({ version }),
    consoleFiles: (gate) =>
      consoleFilesEndpoint({ checkHost: (request) => gate.checkPageHost(request) }),
  };
}
