/**
 * Opens an address in the browser of the user.
 */

import { spawn } from "node:child_process";

/** Programs that open an address, by platform. */
const OPENERS: Readonly<Record<string, readonly [string, ...string[]]>> = {
  darwin: ["open"],
  win32: ["rundll32", "url.dll,FileProtocolHandler"],
};

/** Does nothing where there is no browser: the address is on the screen. */
export function openBrowser(url: string): void {
  const [program, ...words] = OPENERS[process.platform] ?? ["xdg-open"];
  const child = spawn(program, [...words, url], { stdio: "ignore", detached: true });
  child.on("error", () => {});
  child.unref();
}
