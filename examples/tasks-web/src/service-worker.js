/**
 * Keeps the files of one build in the browser, so that the app starts without a connection. The
 * documents are not its business: the peer keeps them.
 *
 * A new build waits until no tab shows the old one, or until the user asks for it: a tab never gets
 * files of two builds.
 */

// The build fills these in (vite.config.js).
const VERSION = "VERSION";
const FILES = ["FILES"];

const PREFIX = "tasks-web:";
const CACHE = PREFIX + VERSION;

async function store() {
  const cache = await caches.open(CACHE);
  // Past the cache of the browser, which may have files of another build.
  await cache.addAll(FILES.map((path) => new Request(path, { cache: "reload" })));
}

async function removeOthers() {
  const names = await caches.keys();
  const others = names.filter((name) => name.startsWith(PREFIX) && name !== CACHE);
  await Promise.all(others.map((name) => caches.delete(name)));
  await self.clients.claim();
}

/** A file of this build, or what the network has. Every page of the app is the same file. */
async function answer(request) {
  const cache = await caches.open(CACHE);
  const wanted = request.mode === "navigate" ? "./" : request;
  // A server may say that answers vary with the origin, which is that of this app here.
  const found = await cache.match(wanted, { ignoreVary: true });
  return found ?? fetch(request);
}

self.addEventListener("install", (event) => event.waitUntil(store()));
self.addEventListener("activate", (event) => event.waitUntil(removeOthers()));
self.addEventListener("message", ({ data }) => {
  if (data === "activate") void self.skipWaiting();
});
self.addEventListener("fetch", (event) => {
  const { request } = event;
  const isOwn = new URL(request.url).origin === self.location.origin;
  if (request.method === "GET" && isOwn) event.respondWith(answer(request));
});
