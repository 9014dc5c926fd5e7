/**
 * Worker loader: the script of a SharedWorker. It imports the engine, whose address is behind the `#`
 * of its own address, and then passes on the pages that have connected meanwhile.
 *
 * Chromium keeps the compiled code of a module that a worker imports by `import()`. It compiles the
 * script of the worker, and what that imports statically, again at each start.
 */

import type { WorkerMessage } from "../messages.ts";
import { type WorkerConnected, web } from "../web-globals.ts";

/** The engine is not there: each page that waits for it gets the reason, and the worker ends. */
function refuse(early: readonly WorkerConnected[], engine: string): void {
  const message = `the worker of this peer cannot be loaded from ${engine}`;
  const error = { name: "PeerError", message, code: "config.invalid" } as const;
  const refused: WorkerMessage = { instance: "", kind: "refused", error };
  for (const { ports } of early) ports[0]?.postMessage(refused);
  web.close();
}

export async function load(engine: string): Promise<void> {
  const early: WorkerConnected[] = [];
  const hold = (event: WorkerConnected): void => void early.push(event);
  web.addEventListener("connect", hold);
  try {
    await import(/* webpackIgnore: true */ /* @vite-ignore */ engine);
  } catch {
    return refuse(early, engine);
  }
  web.removeEventListener("connect", hold);
  // The engine listens now.
  for (const event of early) web.dispatchEvent(event);
}

if (web.SharedWorkerGlobalScope !== undefined) {
  void load(decodeURIComponent(web.location.hash.slice(1)));
}
