/**
 * Contestants of the language benchmark. Each runs in a process of its own, so that one can crash
 * without ending the others.
 */
import { fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { installDitto, installSqlite } from "./install.mjs";

/** In the order of the table. `install` returns the place of the package. */
export const KNOWN = [
  { name: "ours", file: "./ours.mjs" },
  { name: "ditto", file: "./ditto.mjs", install: installDitto },
  { name: "sqlite", file: "./sqlite.mjs", install: installSqlite },
  { name: "raw lmdb", file: "./raw-lmdb.mjs" },
];

const DRIVER = fileURLToPath(new URL("driver.mjs", import.meta.url));

export class ContestantProcess {
  constructor(name, child) {
    this.name = name;
    this.child = child;
    this.ended = once(child, "exit");
  }

  /** Returns undefined and reports the reason if the contestant cannot take part. */
  static async start({ name, file, install }, { folder, documents, phaseMs, heapMb }) {
    try {
      const from = await install?.();
      const given = {
        file,
        from,
        documents,
        phaseMs,
        folder: join(folder, name.replace(" ", "-")),
      };
      const child = fork(DRIVER, [JSON.stringify(given)], {
        execArgv: [...process.execArgv, `--max-old-space-size=${heapMb}`],
        stdio: ["ignore", "inherit", name === "ditto" ? "ignore" : "inherit", "ipc"],
      });
      const contestant = new ContestantProcess(name, child);
      await contestant.answer();
      return contestant;
    } catch (error) {
      console.log(`${name} cannot take part: ${error.message}`);
      return undefined;
    }
  }

  async answer() {
    const [answer] = await Promise.race([
      once(this.child, "message"),
      this.ended.then(([code, signal]) => {
        throw new Error(`its process ended (${signal ?? code})`);
      }),
    ]);
    return answer;
  }

  ask(message) {
    const answer = this.answer();
    if (this.child.connected) this.child.send(message);
    return answer;
  }

  async stop() {
    if (this.child.connected) this.child.disconnect();
    await this.ended;
  }
}
