/**
 * Executor of cases on Big Peer: runs statements in this process, on a store in a temporary folder.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { StatementRunner } from "@bigpeer/engine/query";
import { Store } from "@bigpeer/engine/store";
import { nodePlatform, openStorage } from "@bigpeer/node";

export class Ours {
  #folder;
  #storage;
  #store;
  #runner;

  static async open(prepare) {
    const ours = new Ours();
    ours.#folder = mkdtempSync(join(tmpdir(), "bigpeer-compare-"));
    ours.#storage = await openStorage(join(ours.#folder, "store"));
    ours.#store = await Store.open(ours.#storage, nodePlatform);
    ours.#runner = new StatementRunner({
      store: ours.#store,
      platform: nodePlatform,
      appId: "compare",
    });
    await ours.run(prepare);
    return ours;
  }

  async run(statements) {
    const answers = [];
    for (const { statement, args } of statements) {
      try {
        const { items, mutatedDocumentIds } = await this.#runner.start({ statement, args });
        answers.push({ items, ids: mutatedDocumentIds });
      } catch (error) {
        answers.push({ error: String(error.code ?? "crash"), message: String(error.message) });
      }
    }
    return answers;
  }

  async close() {
    await this.#store.close();
    await this.#storage.close();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
