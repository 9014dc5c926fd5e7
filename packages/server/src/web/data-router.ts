/**
 * Data router: all endpoints of the data listener, in one router: the data API, the login, the state
 * of the server, its documentation, the files of the SDK, and public files.
 */

import type { DataApi } from "../data-api/data-api.ts";
import { apiPageEndpoints } from "../documentation/api-page.ts";
import { docsSiteEndpoints } from "../documentation/docs-site.ts";
import { startPageEndpoint } from "../documentation/start-page.ts";
import type { Cors } from "../http/cors.ts";
import { type Endpoint, Router } from "../http/router.ts";
import { managementElsewhere } from "../management/management-server.ts";
import type { Log } from "../observability/log.ts";
import { openApiEndpoints } from "../openapi/openapi-endpoints.ts";
import { syncEndpoints } from "../sync/sync-endpoint.ts";
import { type PublicFiles, publicEndpoint, publicStartPage } from "./public-files.ts";
import { sdkEndpoint } from "./sdk-files.ts";

export interface DataRouterOptions {
  /** Version of the program. */
  readonly version: string;
  /** URL of the server for clients, when it differs from that of the page. */
  readonly publicUrl: string | undefined;
  readonly data: Pick<DataApi, "endpoints">;
  /** Login, health and metrics. */
  readonly others: readonly Endpoint[];
  readonly files: PublicFiles | undefined;
  readonly cors: Cors;
  readonly log: Log;
}

export function dataRouter(options: DataRouterOptions): Router {
  const { version, publicUrl, data, others, files, cors, log } = options;
  const openApi = openApiEndpoints({ version, serverUrl: publicUrl });
  const startPage = startPageEndpoint(version);
  return new Router({
    endpoints: [
      ...others,
      ...openApi.endpoints,
      ...apiPageEndpoints({ serverUrl: publicUrl }),
      ...docsSiteEndpoints(),
      sdkEndpoint(),
      ...syncEndpoints(),
      files === undefined ? startPage : publicStartPage(files, startPage),
    ],
    otherwise: files && publicEndpoint(files),
    elsewhere: managementElsewhere,
    dataEndpoints: [...data.endpoints, ...openApi.dataEndpoints],
    cors,
    log,
  });
}
