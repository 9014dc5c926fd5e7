/**
 * Registers the service worker, and offers a new version of the app when there is one.
 */
import { useEffect, useState } from "react";

export function UpdateNotice() {
  const [waiting, setWaiting] = useState();
  useEffect(() => {
    // The development server has no build that could be kept.
    if (!import.meta.env.PROD || !("serviceWorker" in navigator)) return undefined;
    let isMounted = true;
    const follow = async () => {
      const registration = await navigator.serviceWorker.register("./sw.js");
      const look = () => isMounted && setWaiting(registration.waiting ?? undefined);
      look();
      registration.addEventListener("updatefound", () => {
        registration.installing?.addEventListener("statechange", look);
      });
    };
    follow().catch((error) => console.warn("the app is not kept for offline use:", error));
    return () => {
      isMounted = false;
    };
  }, []);
  if (waiting === undefined || navigator.serviceWorker.controller === null) return null;
  const update = () => {
    navigator.serviceWorker.addEventListener("controllerchange", () => location.reload());
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a worker, not a window.
    waiting.postMessage("activate");
  };
  return (
    <p className="notice" role="status">
      A new version of this app is there.
      <button type="button" onClick={update}>
        Load it
      </button>
    </p>
  );
}
