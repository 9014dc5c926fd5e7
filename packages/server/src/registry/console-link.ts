/**
 * Console link: the address that opens the console and signs in. Its token is in the fragment, which
 * browsers send to no server.
 *
 * The registry has only the hash of the token. So the link is kept in `quickstart.json`, which its
 * owner alone can read, and each start shows it again. Where the address of the management API has
 * changed, or the file is gone, a start makes a new token, and sessions of the old one end.
 */

import { join } from "node:path";
import { readJsonFile, writeJsonFile } from "@bigpeer/node";
import { getField, isObject, type ValueObject } from "@bigpeer/protocol";
import { QUICKSTART_FILE } from "../config/data-folder.ts";
import { describeError, type Log } from "../observability/log.ts";
import { type Author, SERVER } from "./audit-log.ts";
import type { Registry } from "./registry.ts";

export interface ConsoleLinkHost {
  readonly dataDir: string;
  readonly registry: Registry;
  /** Undefined where no link is made: without a management API, and in a cluster. */
  readonly managementUrl: string | undefined;
  readonly log: Log;
}

const FRAGMENT = "#token=";

export class ConsoleLink {
  readonly #host: ConsoleLinkHost;
  readonly #path: string;
  #url: string | undefined;

  private constructor(host: ConsoleLinkHost) {
    this.#host = host;
    this.#path = join(host.dataDir, QUICKSTART_FILE);
  }

  /** Keeps the link of the last start if it still works, and makes another one if not. */
  static async prepare(host: ConsoleLinkHost): Promise<ConsoleLink> {
    const link = new ConsoleLink(host);
    await link.#prepare();
    return link;
  }

  /** Undefined where no link is made. */
  get url(): string | undefined {
    return this.#url;
  }

  /** File that has the link as `consoleUrl`; undefined when it is gone. */
  get path(): string | undefined {
    return this.#url !== undefined && this.#readFile() !== undefined ? this.#path : undefined;
  }

  /** Makes a new token. All sessions end. Returns the link; undefined where none is made. */
  async renew(author: Author): Promise<string | undefined> {
    const { registry, managementUrl } = this.#host;
    if (managementUrl === undefined) return undefined;
    const token = registry.console.draw();
    const url = `${managementUrl}/${FRAGMENT}${token}`;
    // Before the token works: after a crash in between, the next start makes another one.
    this.#writeFile(url);
    await registry.console.setToken(token, author);
    this.#url = url;
    return url;
  }

  async #prepare(): Promise<void> {
    const { registry, managementUrl } = this.#host;
    const content = this.#readFile();
    const url = content && getField(content, "consoleUrl");
    if (managementUrl === undefined) {
      if (url !== undefined) this.#writeFile(undefined);
      return;
    }
    const start = `${managementUrl}/${FRAGMENT}`;
    const isCurrent = typeof url === "string" && url.startsWith(start);
    if (isCurrent && registry.console.isToken(url.slice(start.length))) this.#url = url;
    else await this.#renewAtStart();
  }

  /** A server whose registry takes no writes now has no link, and runs. */
  async #renewAtStart(): Promise<void> {
    try {
      await this.renew(SERVER);
    } catch (error) {
      this.#host.log("warn", `no link to the console could be made: ${describeError(error)}`);
    }
  }

  /** A file that was deleted stays deleted. */
  #writeFile(consoleUrl: string | undefined): void {
    const content = this.#readFile();
    if (content === undefined) return;
    const { consoleUrl: _, ...rest } = content;
    writeJsonFile(this.#path, consoleUrl === undefined ? rest : { ...rest, consoleUrl });
  }

  /** Undefined when there is no such file, or it is no object in JSON. */
  #readFile(): ValueObject | undefined {
    try {
      const content = readJsonFile(this.#path);
      return isObject(content) ? content : undefined;
    } catch {
      return undefined;
    }
  }
}
