/**
 * The worker of a peer: the script of a SharedWorker, which runs the engine for all pages of an app.
 * A page that cannot have a SharedWorker imports it and runs the engine itself.
 */

import { type WebPort, web } from "../web-globals.ts";
import { workerLock } from "../worker-lock.ts";
import { addressIn } from "../worker-name.ts";
import { connectPage } from "./page-connection.ts";
import { WorkerHost } from "./worker-host.ts";

/** Runs the engine in this page. */
export function hostInPage(): WebPort {
  const { port1, port2 } = new web.MessageChannel();
  void serve(port1, locked(new WorkerHost(undefined)));
  return port2;
}

/** Resolves when the host has its lock, until this worker or page ends: so pages notice the end. */
function locked(host: WorkerHost): Promise<WorkerHost> {
  return new Promise((resolve) => {
    const hold = (): Promise<void> => {
      resolve(host);
      return new Promise(() => {});
    };
    void web.navigator.locks.request(workerLock(host.instance), {}, hold);
  });
}

/** A page that hears of a host without a lock would take it for one that has ended. */
async function serve(port: WebPort, host: Promise<WorkerHost>): Promise<void> {
  connectPage(port, await host);
}

if (web.SharedWorkerGlobalScope !== undefined) {
  const host = locked(new WorkerHost(addressIn(web.name)));
  web.addEventListener("connect", ({ ports: [port] }) => {
    if (port !== undefined) void serve(port, host);
  });
}
