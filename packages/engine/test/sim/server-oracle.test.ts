/**
 * The oracle on its own: a store under statements, uploads, crashes, copies, horizons and EVICT stays
 * what the oracle says; and what is changed behind its back is found.
 */

import type { UploadOperation } from "@bigpeer/protocol";
import { expect, test } from "vitest";
import { histories } from "../../../protocol/test/support/test-size.ts";
import { StatementRunner } from "../../src/query/statement-runner.ts";
import { renewIdentity } from "../../src/store/identity.ts";
import { DEFAULT_RETENTION } from "../../src/store/maintenance.ts";
import { Store } from "../../src/store/store.ts";
import { takeUpload } from "../../src/store/taken-upload.ts";
import { uploadDigest } from "../../src/store/upload.ts";
import { seededRandom } from "../support/test-platform.ts";
import { randomUploadOperation } from "../support/workload.ts";
import { Scheduler } from "./scheduler.ts";
import { SentUploads } from "./sent-uploads.ts";
import { type Checkpoint, ServerOracle } from "./server-oracle.ts";
import { SimNode } from "./sim-node.ts";
import { randomServerStatement } from "./sim-statements.ts";

interface Writer {
  readonly site: string;
  number: number;
  digest: Uint8Array | undefined;
}

const RETENTION = { ...DEFAULT_RETENTION, logCount: 30, horizonMs: 3000 };

class Walk {
  readonly scheduler: Scheduler;
  readonly node: SimNode;
  readonly sent: SentUploads;
  readonly oracle: ServerOracle;
  readonly writers: Writer[];
  store: Store | undefined;
  runner: StatementRunner | undefined;

  constructor(seed: number) {
    this.scheduler = new Scheduler(seededRandom(seed), false);
    this.node = new SimNode("server", this.scheduler, seed + 1);
    this.sent = new SentUploads(this.scheduler);
    this.oracle = new ServerOracle(this.scheduler, this.sent);
    this.node.onDurable = () => this.oracle.catchUp(this.node.disk);
    this.writers = [1, 2].map((site) => {
      return { site: `000000000000000${site}`, number: 0, digest: undefined };
    });
  }

  open(): void {
    const platform = this.node.platform();
    void Store.open(this.node.storage(), platform, { retention: RETENTION }).then((store) => {
      this.store = store;
      this.runner = new StatementRunner({ store, platform, appId: "app" });
      this.oracle.catchUp(this.node.disk);
    });
  }

  step(i: number): void {
    const { random } = this.scheduler;
    if (this.store === undefined || this.runner === undefined) return;
    if (random.chance(0.03)) {
      this.store = undefined;
      this.node.crash();
      this.open();
    } else if (random.chance(0.1)) void this.store.maintain().catch(() => undefined);
    else if (random.chance(0.4)) this.upload(this.store, random.pick(this.writers));
    else void this.runner.execute(randomServerStatement(random, `#${i}`)).catch(() => undefined);
  }

  upload(store: Store, writer: Writer): void {
    const { random } = this.scheduler;
    const operations: UploadOperation[] = [randomUploadOperation(random)];
    // Some are late: behind the horizon, or behind the last of their site.
    const late = random.chance(0.3) ? random.below(6000) : 0;
    const time = (this.node.nowMs - late - 1_704_067_200_000) * 4096 + random.below(4096);
    const steps = [{ time, operations }];
    const digest = uploadDigest(this.node.platform(), writer.digest, steps);
    const upload = { site: writer.site, number: writer.number + 1, digest, steps };
    this.sent.add(upload.site, upload.number, digest, steps);
    void takeUpload(store, upload).then(
      ({ kind }) => {
        if (kind !== "taken") return;
        Object.assign(writer, { number: upload.number, digest });
      },
      () => undefined,
    );
  }
}

async function walk(seed: number, length: number): Promise<Walk> {
  const made = new Walk(seed);
  made.open();
  await made.scheduler.runFor(100);
  for (let i = 0; i < length; i++) {
    made.step(i);
    await made.scheduler.runFor(made.scheduler.random.below(150));
  }
  await made.scheduler.runFor(2000);
  return made;
}

test("[K6] [K20] a store equals the oracle's result of its operations, through crashes and horizons", async () => {
  for (let seed = 1; seed <= histories(40); seed++) {
    const { oracle, node, scheduler } = await walk(seed, 120);
    oracle.check(node.disk);
    expect(scheduler.failure, `seed ${seed}`).toBeUndefined();
    expect(oracle.documents.size).toBeGreaterThan(3);
  }
});

test("[K26] a store restored from a copy is as it was then", async () => {
  const made = await walk(99, 60);
  const { oracle, node, scheduler } = made;
  const checkpoint: Checkpoint = oracle.checkpoint();
  const copy = await node.copyOfDisk();
  for (let i = 0; i < 30; i++) {
    made.step(1000 + i);
    await scheduler.runFor(50);
  }
  await scheduler.runFor(1000);
  node.crash();
  node.putDisk(copy);
  node.onDurable = undefined;
  void renewIdentity(node.storage(), node.platform()).then(() => {
    oracle.restore(checkpoint, node.disk);
  });
  await scheduler.runFor(1000);
  oracle.check(node.disk);
  expect(scheduler.failure).toBeUndefined();
});

test("a document without a write is found", async () => {
  const { oracle, node, scheduler } = await walk(7, 60);
  const place = [...oracle.documents.keys()][0] ?? "";
  (oracle.documents as Map<string, unknown>).delete(place);
  oracle.check(node.disk);
  expect(scheduler.failure?.invariant).toBe("the server is what its operations make");
});
