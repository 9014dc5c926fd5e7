/**
 * PostgreSQL for comparison, if it is installed. It runs as an unprivileged user, on a temporary
 * cluster with a socket in the same folder. The load generator is pgbench, which comes with
 * PostgreSQL.
 */
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import {
  chownSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { fieldsOf } from "../floor/cars.mjs";
import { DOCUMENTS } from "./cases.mjs";

const INSTALLED = "/usr/lib/postgresql";
const WANTED = "15";
const START_MS_MAX = 20_000;

/** A jsonb column with a text key, and an upsert that merges fields like that of Big Peer. */
const SCHEMA = "CREATE TABLE cars (id text PRIMARY KEY, doc jsonb NOT NULL)";
const UPSERT =
  `\\set n random(0, ${DOCUMENTS - 1})\n` +
  "INSERT INTO cars (id, doc) VALUES (md5(:n::text), :doc::jsonb) " +
  "ON CONFLICT (id) DO UPDATE SET doc = cars.doc || excluded.doc;\n";

/** Returns undefined and reports the reason if PostgreSQL cannot be used. */
export async function startPostgres(say) {
  const bin = findPrograms();
  if (bin === undefined) {
    say(
      `no PostgreSQL ${WANTED} under ${INSTALLED}: left out (Debian: apt-get install postgresql)`,
    );
    return undefined;
  }
  try {
    return await Postgres.start(bin);
  } catch (error) {
    say(`PostgreSQL could not be started: ${error.message}: left out`);
    return undefined;
  }
}

function findPrograms() {
  const bin = join(INSTALLED, WANTED, "bin");
  return ["initdb", "postgres", "psql", "pgbench"].every((name) => existsSync(join(bin, name)))
    ? bin
    : undefined;
}

/** PostgreSQL refuses to run as root, so it runs as the user of its package. */
function unprivileged() {
  if (process.getuid?.() !== 0) return {};
  return { uid: idOf("-u"), gid: idOf("-g") };
}

function idOf(kind) {
  return Number(execFileSync("id", [kind, "postgres"], { encoding: "utf8" }));
}

class Postgres {
  constructor(bin, folder, user) {
    this.bin = bin;
    this.folder = folder;
    this.options = { ...user, cwd: folder, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] };
    this.where = ["-h", folder, "-U", "bench"];
  }

  static async start(bin) {
    // Not inside another temporary folder, which that user could not enter.
    const folder = mkdtempSync(join(tmpdir(), "bigpeer-bench-"));
    const user = unprivileged();
    if (user.uid !== undefined) chownSync(folder, user.uid, user.gid);
    const postgres = new Postgres(bin, folder, user);
    postgres.run("initdb", [
      "-D",
      join(folder, "data"),
      "-U",
      "bench",
      "-A",
      "trust",
      "-E",
      "UTF8",
    ]);
    const settings = {
      listen_addresses: "",
      unix_socket_directories: folder,
      synchronous_commit: "on",
      // Enough connections for two loads that alternate and both keep theirs.
      max_connections: 200,
    };
    const given = Object.entries(settings);
    postgres.process = spawn(
      join(bin, "postgres"),
      ["-D", join(folder, "data"), ...given.flatMap(([name, value]) => ["-c", `${name}=${value}`])],
      { ...user, cwd: folder, stdio: "ignore" },
    );
    try {
      await postgres.load();
    } catch (error) {
      await postgres.stop();
      throw error;
    }
    return postgres;
  }

  run(program, args) {
    return execFileSync(join(this.bin, program), args, this.options);
  }

  query(text) {
    return this.run("psql", [...this.where, "-At", "-c", text, "postgres"]).trim();
  }

  async load() {
    for (const end = performance.now() + START_MS_MAX; ; await setTimeout(100)) {
      try {
        [this.version] = this.query("SHOW server_version").split(" ");
        break;
      } catch (error) {
        if (performance.now() > end) throw error;
      }
    }
    this.query(SCHEMA);
    const doc = JSON.stringify(fieldsOf(1));
    this.query(
      `INSERT INTO cars SELECT md5(n::text), '${doc}' FROM generate_series(0, ${DOCUMENTS - 1}) n`,
    );
    this.query("VACUUM ANALYZE cars");
    writeFileSync(join(this.folder, "upsert.sql"), UPSERT);
  }

  /** One round of durable upserts, with one in flight on each connection. */
  upserts({ connections, seconds }) {
    const prefix = `round-${performance.now()}`;
    const output = this.run("pgbench", [
      ...this.where,
      "--no-vacuum",
      "--protocol=prepared",
      `--file=${join(this.folder, "upsert.sql")}`,
      `--client=${connections}`,
      "--jobs=2",
      `--time=${Math.ceil(seconds)}`,
      `--define=doc=${JSON.stringify(fieldsOf(2))}`,
      // Logs the time of one upsert in five, because the log itself takes time.
      "--log",
      `--log-prefix=${prefix}`,
      "--sampling-rate=0.2",
      "postgres",
    ]);
    const rate = Number(/^tps = ([\d.]+)/m.exec(output)?.[1]);
    const logs = readdirSync(this.folder).filter((name) => name.startsWith(prefix));
    const lines = logs.flatMap((name) =>
      readFileSync(join(this.folder, name), "utf8").trim().split("\n"),
    );
    return { rate, times: lines.map((line) => Number(line.split(" ")[2]) / 1000) };
  }

  async stop() {
    const ended = once(this.process, "exit");
    this.process.kill("SIGINT");
    await ended;
    rmSync(this.folder, { recursive: true, force: true });
  }
}
