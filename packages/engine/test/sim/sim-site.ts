/**
 * A site of a run: a Big Peer with its store, its small peers, those who write to it directly, and its
 * links to other sites. What holds of the server of a run without links holds of it as well.
 */

import { createHmac } from "node:crypto";
import { PeerError } from "@bigpeer/protocol";
import { Link, type LinkEvent, type LinkOptions } from "../../src/link/link.ts";
import type { LinkStatus } from "../../src/link/link-status.ts";
import type { Channel } from "../../src/platform.ts";
import type { LinkTap } from "./link-tap.ts";
import { queriesOf, type SimPull } from "./link-topology.ts";
import { LocalWrites } from "./local-writes.ts";
import type { Scheduler } from "./scheduler.ts";
import { SentUploads } from "./sent-uploads.ts";
import { type End, type Receiver, SimNetwork } from "./sim-network.ts";
import type { Life, SimNode } from "./sim-node.ts";
import { SimPeer } from "./sim-peer.ts";
import { APP_ID, type Backup, SimServer } from "./sim-server.ts";
import type { SiteBook } from "./site-book.ts";
import type { WireTap } from "./wire-tap.ts";
import { tapOf, type World } from "./world.ts";

export interface SiteParts {
  readonly scheduler: Scheduler;
  readonly seed: number;
  readonly book: SiteBook;
  readonly links: LinkTap;
  /** Another site. */
  site(name: string): SimSite;
  readonly count: (name: string) => void;
}

/** One side of a link, as the site knows it. */
interface SimLink {
  readonly other: string;
  readonly side: "dial" | "accept";
  readonly link: Link;
  readonly end: End;
  /** The history of the other side; undefined before it is known. */
  partner: string | undefined;
  /** Why it ended. */
  code: string | undefined;
}

/** Who has dialled a link of which there is another one comes back this late (S49). */
const DUPLICATE_MS = 20_000;
const PEACEFUL_DUPLICATE_MS = 4000;

export class SimSite implements World {
  readonly name: string;
  readonly scheduler: Scheduler;
  readonly server: SimServer;
  /** Of its small peers, and of the sites that call it. */
  readonly network: SimNetwork;
  readonly calls: SimNetwork;
  readonly tap: WireTap;
  readonly sent: SentUploads;
  readonly writes = new LocalWrites();
  readonly peers: SimPeer[] = [];
  readonly book: SiteBook;
  /** What it follows of which site; none of one that it is not linked with. */
  readonly pulls = new Map<string, readonly SimPull[]>();
  /** The sites that it calls. */
  readonly dials = new Set<string>();
  backup: Backup | undefined;
  isPeace = false;
  /** Whether its app has a replication. */
  #isReplicated = true;
  readonly #parts: SiteParts;
  readonly #limits: LinkOptions["limits"];
  readonly #links = new Set<SimLink>();

  constructor(parts: SiteParts) {
    const { scheduler, seed, book } = parts;
    this.#parts = parts;
    this.name = book.name;
    this.book = book;
    this.scheduler = scheduler;
    this.sent = new SentUploads(scheduler);
    this.tap = tapOf(this);
    const { sent, tap, name } = this;
    this.server = new SimServer(scheduler, seed, {
      sent,
      tap,
      name,
      book,
      isTokenEternal: true,
    });
    this.server.onUp = () => this.#begin();
    // Clocks of sites are set back and forth: only the history tells lives apart.
    this.server.wasClockSetBack = true;
    this.network = new SimNetwork(scheduler, this.server);
    this.calls = new SimNetwork(scheduler, { accept: (end, by) => this.#accept(end, by) });
    this.#limits = randomLimits(this.node);
  }

  get node(): SimNode {
    return this.server.node;
  }

  get isUp(): boolean {
    return this.server.isUp;
  }

  count(name: string): void {
    this.#parts.count(name);
  }

  addPeer(): SimPeer {
    const { scheduler, network, server, tap } = this;
    const name = `${this.name}.p${this.peers.length}`;
    const credential = scheduler.random.pick(server.credentials);
    const seed = this.#parts.seed * 17 + this.peers.length + 3;
    const runs = {
      wishOf: (run: number): never => {
        throw new Error(`no run ${run}`);
      },
    };
    const { count } = this.#parts;
    const parts = { scheduler, network, server, tap, runs, count };
    const peer = new SimPeer(name, credential, seed, parts);
    this.peers.push(peer);
    return peer;
  }

  /** The links that are up, in the eyes of this site. */
  linkWith(other: string): { readonly end: End; status(): LinkStatus } | undefined {
    for (const each of this.#links) {
      const { link, end } = each;
      if (each.other !== other || each.partner === undefined || each.code !== undefined) continue;
      return { end, status: () => link.status() };
    }
    return undefined;
  }

  /** What is followed of a site from now on. */
  follow(other: string, pulls: readonly SimPull[]): void {
    const text = pulls.map(({ collection, rule }) => `${collection}: ${rule.text}`).join(", ");
    this.node.note(`follows of ${other} ${text === "" ? "nothing" : text}`);
    this.pulls.set(other, pulls);
    for (const each of this.#links) {
      if (each.other === other) each.link.configure(queriesOf(pulls));
    }
  }

  setReplicated(isReplicated: boolean): void {
    if (this.#isReplicated === isReplicated) return;
    this.node.note(isReplicated ? "has a replication" : "has no replication any more");
    this.#isReplicated = isReplicated;
    if (isReplicated) return;
    for (const { link } of this.#links) {
      void link.close("stopped", "the app has no replication any more");
    }
  }

  /** A process of the site runs: it calls those that it is to call. */
  #begin(): void {
    this.#links.clear();
    for (const other of this.dials) this.#call(other, this.#wait(0, 500));
    this.#tickEvery(this.node.life);
  }

  #tickEvery(life: Life): void {
    life.after(1000, () => {
      if (!this.isUp) return;
      for (const { link } of this.#links) link.tick();
      this.#tickEvery(life);
    });
  }

  #wait(low: number, high: number): number {
    return this.scheduler.between(low, this.isPeace ? Math.min(high, 500) : high);
  }

  get #slowMs(): number {
    return this.isPeace ? PEACEFUL_DUPLICATE_MS : DUPLICATE_MS;
  }

  #call(other: string, delayMs: number): void {
    const { life } = this.node;
    life.after(delayMs, () => {
      if (!this.isUp) return;
      if (!this.#isReplicated) return this.#call(other, this.#wait(200, 2000));
      let one: SimLink | undefined;
      const { calls } = this.#parts.site(other);
      calls.dial(this.name, life, {
        opened: (channel) => {
          one = this.#open(channel as End, other, "dial");
        },
        message: (bytes) => one?.link.receive(bytes),
        drained: () => one?.link.drained(),
        closed: () => {
          if (one !== undefined) this.#closed(one);
          const isSlow = one?.code === "duplicate";
          this.#call(other, isSlow ? this.#slowMs : this.#wait(50, 5000));
        },
      });
    });
  }

  #accept(end: End, by: string): { receiver: Receiver; life: Life } | undefined {
    if (!this.isUp || !this.#isReplicated) return undefined;
    const one = this.#open(end, by, "accept");
    const receiver: Receiver = {
      message: (bytes) => one.link.receive(bytes),
      drained: () => one.link.drained(),
      closed: () => this.#closed(one),
    };
    return { receiver, life: this.node.life };
  }

  #open(end: End, other: string, side: "dial" | "accept"): SimLink {
    const { store, sync } = this.server;
    if (store === undefined || sync === undefined) throw new Error("expected a site that is up");
    const { life } = this.node;
    const to = this.#parts.site(other).book;
    const queueBytes = this.server.limits.queueBytes ?? 0;
    end.onSend = (bytes) => {
      if (life.isAlive) this.#parts.links.sent(end, bytes, { from: this.book, to, queueBytes });
    };
    const link = new Link({
      store,
      platform: this.node.platform(),
      appId: APP_ID,
      streams: sync.streams,
      channel: end satisfies Channel,
      side,
      queries: queriesOf(this.pulls.get(other) ?? []),
      hmac: (bytes) => new Uint8Array(createHmac("sha256", "a secret").update(bytes).digest()),
      ...(this.#limits && { limits: this.#limits }),
      onEvent: (event) => {
        if (life.isAlive) this.#happened(one, event);
      },
    });
    const one: SimLink = { other, side, link, end, partner: undefined, code: undefined };
    this.#links.add(one);
    return one;
  }

  #happened(one: SimLink, event: LinkEvent): void {
    switch (event.kind) {
      case "linked":
        one.partner = event.partner;
        this.count("linked");
        this.#endSurplus(event.partner);
        return;
      case "ended":
        one.code = event.code;
        this.count(`ended ${event.code}`);
        // A greeting may be late; nothing else may be wrong.
        if (event.code === "malformed" && !event.message.includes("within")) {
          this.scheduler.fail("[S47] sides understand each other", event.message);
        }
        return;
      default:
        if (event.error instanceof PeerError && event.error.code.startsWith("store.")) return;
        this.scheduler.fail("nothing unexpected happens", textOf(event.error));
    }
  }

  /** Of two links between two stores the one stays that the smaller history has dialled (S49). */
  #endSurplus(partner: string): void {
    const own = this.server.store?.identity.historyId ?? "";
    const preferred = own < partner ? "dial" : "accept";
    const rivals = [...this.#links].filter((each) => {
      return each.partner === partner && each.code === undefined;
    });
    // Of two that one side has dialled it knows the older one to be gone.
    const stays = rivals.findLast(({ side }) => side === preferred) ?? rivals.at(-1);
    for (const each of rivals) {
      if (each !== stays) void each.link.close("duplicate", "there is a link already");
    }
  }

  #closed(one: SimLink): void {
    one.code ??= "lost";
    this.#links.delete(one);
    one.link.closed();
  }

  /** At once. What was on its way is lost. */
  crash(): void {
    this.server.crash();
    this.#links.clear();
  }

  /** In order: links say goodbye, and what has come is merged. */
  async stop(): Promise<void> {
    const { life } = this.node;
    const links = [...this.#links];
    await Promise.all(links.map(({ link }) => link.close("closing", "the server is closing")));
    if (life.isAlive) await this.server.stop();
  }
}

/** Small in many runs, so that what they guard against happens. */
function randomLimits({ random }: SimNode): LinkOptions["limits"] {
  if (random.chance(0.3)) return undefined;
  return {
    batchDocuments: random.pick([1, 3, 1000]),
    batchBytes: random.pick([200, 5000, 1_000_000]),
    batches: random.pick([1, 2, 4]),
    waitingBytes: random.pick([500, 4000, 1_000_000]),
    retryMs: 5000,
  };
}

function textOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
