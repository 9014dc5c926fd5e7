/**
 * A real server process that can be asked how late its event loop was and what memory it has
 * (watched-server.ts is loaded before it).
 */

import { once } from "node:events";
import { connect } from "node:net";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { bundleScript, type Script } from "../../../node/test/support/script.ts";
import { temporaryFolder } from "../../../node/test/support/temporary-folder.ts";
import { type Served, serveFolder } from "../../../server/test/support/served-folder.ts";
import type { LoopReading, MemoryReading } from "./watched-server.ts";

export class ServerWatch {
  readonly #path: string;
  readonly served: Served;

  private constructor(path: string, served: Served) {
    this.#path = path;
    this.served = served;
  }

  /** The scripts to start one from. */
  static async scripts(): Promise<WatchScripts> {
    const server = await bundleScript("server/src/main");
    const watch = await bundleScript("peer/test/support/watched-server");
    const remove = (): void => {
      server.remove();
      watch.remove();
    };
    return { server, watch, remove };
  }

  /** `words` are settings of the command line. */
  static async serve(
    { server, watch }: WatchScripts,
    words: readonly string[],
  ): Promise<ServerWatch> {
    const folder = temporaryFolder();
    const path = join(folder, "watch");
    const env = {
      NODE_OPTIONS: `--import=${pathToFileURL(watch.path).href}`,
      WATCH_SOCKET: path,
    };
    const served = await serveFolder(server, join(folder, "data"), words, env);
    return new ServerWatch(path, served);
  }

  /** Since it was last asked. */
  async loop(): Promise<LoopReading> {
    return (await this.#ask("loop")) as LoopReading;
  }

  /** After garbage was collected. */
  async memory(): Promise<MemoryReading> {
    return (await this.#ask("memory")) as MemoryReading;
  }

  async #ask(word: string): Promise<unknown> {
    const socket = connect(this.#path);
    let text = "";
    socket.setEncoding("utf8").on("data", (chunk: string) => {
      text += chunk;
    });
    socket.write(word);
    await once(socket, "end");
    socket.destroy();
    return JSON.parse(text);
  }
}

export interface WatchScripts {
  readonly server: Script;
  readonly watch: Script;
  remove(): void;
}
