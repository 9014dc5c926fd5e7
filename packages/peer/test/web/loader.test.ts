/**
 * The loader of a worker: pages that connect before the engine is there. Real browsers show the rest
 * (tabs.long.test.ts).
 */

import { afterEach, expect, test, vi } from "vitest";
import type { WorkerConnected } from "../../src/web/web-globals.ts";
import { load } from "../../src/web/worker/loader.ts";

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
    close: vi.fn<() => void>(),
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
  const loading = load("data:text/javascript,addEventListener('connect', engineHears)");
  const pages = [newPage(), newPage(), newPage()] as const;
  scope.dispatchEvent(pages[0]);
  scope.dispatchEvent(pages[1]);
  expect(scope.engineHears).not.toHaveBeenCalled();
  await loading;
  scope.dispatchEvent(pages[2]);
  expect(scope.engineHears.mock.calls).toEqual(pages.map((page) => [page]));
  expect(scope.close).not.toHaveBeenCalled();
});

test("an engine that cannot be loaded is the answer to all pages, and the worker ends", async () => {
  const scope = newWorkerScope();
  const engine = "data:text/javascript,throw new Error('broken')";
  const loading = load(engine);
  const page = newPage();
  scope.dispatchEvent(page);
  await loading;
  expect(page.ports[0]?.postMessage.mock.calls).toEqual([
    [
      {
        instance: "",
        kind: "refused",
        error: {
          name: "PeerError",
          code: "config.invalid",
          message: `the worker of this peer cannot be loaded from ${engine}`,
        },
      },
    ],
  ]);
  expect(scope.close).toHaveBeenCalledOnce();
});
