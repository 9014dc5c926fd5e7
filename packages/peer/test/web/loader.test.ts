/**
 * The loader of a worker: pages that connect before the engine is there. Real browsers show the rest
 * (tabs.long.test.ts).
 */

import { afterEach, expect, test, vi } from "vitest";
import type { WorkerConnected } from "../../src/web/web-globals.ts";
import { WorkerLoader } from "../../src/web/worker/loader.ts";

type Listener = (event: WorkerConnected) => void;

/** Stands for the globals of a SharedWorker. */
function newWorkerScope() {
  const listeners: Listener[] = [];
  const scope = {
    addEventListener: (_name: string, listener: Listener) => void listeners.push(listener),
    removeEventListener: (_name: string, listener: Listener) =>
      void listeners.splice(listeners.indexOf(listener), 1),
    dispatchEvent: (event: WorkerConnected) => {
      for (const listener of listeners) listener(event);
    },
    engineHears: vi.fn<Listener>(),
  };
  for (const [name, value] of Object.entries(scope)) vi.stubGlobal(name, value);
  return scope;
}

function newPage() {
  return { ports: [{ onmessage: null, postMessage: vi.fn<(message: unknown) => void>() }] };
}

afterEach(() => vi.unstubAllGlobals());

test("the engine gets the pages that connect before it is loaded, each once, and those after it", async () => {
  const scope = newWorkerScope();
  new WorkerLoader("data:text/javascript,addEventListener('connect', engineHears)").start();
  const pages = [newPage(), newPage(), newPage()] as const;
  scope.dispatchEvent(pages[0]);
  scope.dispatchEvent(pages[1]);
  expect(scope.engineHears).not.toHaveBeenCalled();
  await vi.waitFor(() => expect(scope.engineHears).toHaveBeenCalledTimes(2));
  scope.dispatchEvent(pages[2]);
  expect(scope.engineHears.mock.calls).toEqual(pages.map((page) => [page]));
});

test("an engine that cannot be loaded is the answer to the pages, and the next page has it loaded again", async () => {
  const scope = newWorkerScope();
  vi.stubGlobal("isThere", false);
  const engine =
    "data:text/javascript,if (!isThere) throw 1; else addEventListener('connect', engineHears)";
  new WorkerLoader(engine).start();
  const refusal = {
    instance: "",
    kind: "refused",
    error: {
      name: "PeerError",
      code: "config.invalid",
      message: `the worker of this peer cannot be loaded from ${engine}`,
    },
  };
  for (let i = 0; i < 2; i++) {
    const { ports } = newPage();
    scope.dispatchEvent({ ports });
    await vi.waitFor(() => expect(ports[0]?.postMessage.mock.calls).toEqual([[refusal]]));
  }
  vi.stubGlobal("isThere", true);
  const page = newPage();
  scope.dispatchEvent(page);
  await vi.waitFor(() => expect(scope.engineHears.mock.calls).toEqual([[page]]));
});
