/**
 * Management pages: the OpenAPI document of the management API and the page to try it, on the
 * management listener. They need no credential: they describe the API and nothing of this server.
 */

import type { Endpoint } from "../http/router.ts";
import { problemBody } from "../management/problem.ts";
import { managementOpenApiEndpoint } from "../openapi/openapi-endpoints.ts";
import { apiPageEndpoints } from "./api-page.ts";

export interface ManagementPagesOptions {
  /** Version of the program. */
  readonly version: string;
  /** Files of the page; by default beside the built server. */
  readonly folder?: URL | undefined;
}

export function managementPages({ version, folder }: ManagementPagesOptions): Endpoint[] {
  return [
    managementOpenApiEndpoint({ version }),
    ...apiPageEndpoints({ folder, title: "Big Peer management API", failureBody: problemBody }),
  ];
}
