/**
 * A server with some endpoints and nothing else, on a free port.
 */

import { type HttpServer, listenHttp } from "../../src/http/http-server.ts";
import { type Endpoint, Router } from "../../src/http/router.ts";

export async function listenEndpoints(
  endpoints: readonly Endpoint[],
  dataEndpoints: readonly Endpoint[] = [],
): Promise<HttpServer> {
  const log = (): void => {};
  const router = new Router({ endpoints, dataEndpoints, log });
  const answer = router.answer.bind(router);
  return listenHttp({ host: "127.0.0.1", port: 0, answer, log });
}
