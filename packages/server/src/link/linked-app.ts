/**
 * Linked app: all links of one app, as its replications currently configure them.
 *
 * Each address has a dialler of its own; accepted connections come beside. Which replications a
 * link serves is decided again when they change, or when the partner at an address becomes known.
 */

import type { LinkFault } from "@bigpeer/engine/link";
import type { ByeCode } from "@bigpeer/protocol";
import type { Replication } from "../registry/replications.ts";
import type { AppContents, ContentSource } from "./app-contents.ts";
import type { LinkConnection, Pulled } from "./link-connection.ts";
import { LinkDialler, type LinkEnd } from "./link-dialler.ts";
import type { LinkReport, LinkState } from "./link-report.ts";
import { addressesOf, addressKey, isEagerLink, isMeant, pulledQueries } from "./pulled-queries.ts";
import { surplusLinks } from "./surplus-links.ts";

export interface LinkedAppHost {
  /** Dials an address; `attempt` receives the result. */
  dial(appId: string, address: string, attempt: Attempt): void;
  /** Milliseconds since 1970, and a monotonic clock. */
  now(): number;
  elapsed(): number;
  chance(): number;
  /** Reports an event for the operator. */
  report(app: LinkedApp, event: LinkEvent): void;
}

/** A dial attempt. One of the two is called, once; the connection reports its end itself. */
export interface Attempt {
  readonly isWanted: () => boolean;
  opened(connection: LinkConnection): void;
  failed(end: LinkEnd): void;
}

export interface LinkEvent {
  readonly kind: "linked" | "ended" | "failed" | "refused";
  readonly side: "dial" | "accept";
  readonly address: string;
  readonly partner?: string | undefined;
  readonly code?: string;
  readonly message?: string;
  /** The same error came before, so it need not be reported again. */
  readonly isRecurring?: boolean;
}

/** Totals of ended and current links. */
export interface LinkTotals {
  pulledDocuments: number;
  pulledBytes: number;
  servedDocuments: number;
  servedBytes: number;
}

/** The state of an address. */
interface Dialled {
  readonly dialler: LinkDialler;
  connection: LinkConnection | undefined;
  /** How the last connection ended; undefined while one is linked. */
  lastError: LinkFault | undefined;
}

/** Callers and refusals that are remembered. */
const CALLERS_MAX = 1_000;
const REFUSED_MAX = 10;

/** How long a refusal is shown. */
const REFUSED_MS = 600_000;

export class LinkedApp implements ContentSource {
  /** Set from the first link on, while the app is open. */
  contents: AppContents | undefined;
  readonly id: string;
  readonly #host: LinkedAppHost;
  readonly #dialled = new Map<string, Dialled>();
  readonly #connections = new Set<LinkConnection>();
  readonly #byAddress = new Map<string, string>();
  readonly #callers = new Set<string>();
  /** Refused callers, by address. */
  readonly #refused = new Map<string, LinkFault>();
  readonly #errors = new Map<string, number>();
  readonly #ended: LinkTotals = {
    pulledDocuments: 0,
    pulledBytes: 0,
    servedDocuments: 0,
    servedBytes: 0,
  };
  #replications: readonly Replication[] = [];
  #secret: string | undefined;
  #sinceMs: number;
  #isClosed = false;

  constructor(id: string, host: LinkedAppHost) {
    this.id = id;
    this.#host = host;
    this.#sinceMs = host.now();
  }

  /** Undefined while there is none. */
  get secret(): string | undefined {
    return this.#secret;
  }

  get connections(): ReadonlySet<LinkConnection> {
    return this.#connections;
  }

  /** How often links ended or could not be made, by the reason. */
  get errors(): ReadonlyMap<string, number> {
    return this.#errors;
  }

  /** Whether the app has nothing to link any more. */
  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Applies the current replications and the current secret. */
  follow(replications: readonly Replication[], secret: string | undefined): void {
    const isSame =
      secret === this.#secret &&
      JSON.stringify(replications) === JSON.stringify(this.#replications);
    this.#isClosed = false;
    this.#replications = replications;
    if (secret !== this.#secret) {
      this.#secret = secret;
      this.#sinceMs = this.#host.now();
      this.#endAll("stopped", "the replication secret is another one now");
    }
    // The change may be what they waited for.
    if (!isSame) for (const { dialler } of this.#dialled.values()) dialler.hurry();
    const wanted = secret === undefined ? new Map<string, string>() : addressesOf(replications);
    for (const [key, dialled] of this.#dialled) if (!wanted.has(key)) this.#drop(key, dialled);
    for (const [key, address] of wanted) if (!this.#dialled.has(key)) this.#call(key, address);
    this.#configure();
  }

  /** Takes an accepted connection whose other side has proved the secret. */
  accept(connection: LinkConnection): void {
    this.#connections.add(connection);
    this.#refused.delete(connection.remoteAddress);
  }

  /** What a connection currently pulls. */
  pulledBy({ address, partner }: LinkConnection): Pulled {
    const link = { address: address && addressKey(address), partner };
    const queries = pulledQueries(this.#replications, link, this.#known);
    return { queries, isEager: isEagerLink(this.#replications, link, this.#known) };
  }

  /** Links that may bring contents. */
  get links(): Iterable<LinkConnection> {
    return this.#connections;
  }

  /** Whether a partner to pull from is not linked now. */
  get isSomebodyAway(): boolean {
    return this.#replications.some((replication) => {
      if (Object.keys(replication.queriesByCollection).length === 0) return false;
      const states = this.reports(replication).map(({ state }) => state);
      if (replication.connections.length === 0) return !states.some(isUp);
      return !states.every(isUp);
    });
  }

  linked(connection: LinkConnection): void {
    const { side, address, partner, remoteAddress } = connection;
    if (partner === undefined) return;
    if (address !== undefined) {
      this.#byAddress.set(addressKey(address), partner);
      const dialled = this.#dialled.get(addressKey(address));
      if (dialled?.connection === connection) {
        dialled.lastError = undefined;
        dialled.dialler.up();
      }
    } else {
      this.#remember(partner);
      this.#callBack();
    }
    this.#host.report(this, { kind: "linked", side, address: address ?? remoteAddress, partner });
    this.endSurplus();
    this.#configure();
  }

  ended(connection: LinkConnection, end: LinkEnd): void {
    const { side, address, remoteAddress, partner } = connection;
    this.#connections.delete(connection);
    this.#add(this.#ended, connection);
    this.#count(end.code);
    const key = address && addressKey(address);
    const dialled = key === undefined ? undefined : this.#dialled.get(key);
    const isRecurring = dialled?.lastError?.code === end.code;
    const linkEvent = { kind: "ended", side, address: address ?? remoteAddress, partner } as const;
    this.#host.report(this, { ...linkEvent, code: end.code, message: end.message, isRecurring });
    if (dialled?.connection === connection) this.#ending(dialled, end);
    // An address that was a duplicate of it dials at once.
    if (partner !== undefined) this.#hurry(partner);
  }

  /** Records a refused caller, with the reason for the operator. */
  refused(remoteAddress: string, { code, message }: LinkEnd): void {
    this.#count(code);
    this.#refused.delete(remoteAddress);
    this.#refused.set(remoteAddress, { code, message, atMs: this.#host.now() });
    for (const first of this.#refused.keys()) {
      if (this.#refused.size > REFUSED_MAX) this.#refused.delete(first);
    }
  }

  /** Keeps one link for each partner (S84). */
  endSurplus(): void {
    const linked = [];
    let ownHistory = "";
    for (const connection of this.#connections) {
      const { side, partner, linkedMs, isLinked } = connection;
      if (partner === undefined || !isLinked) continue;
      ownHistory = connection.ownHistory ?? ownHistory;
      linked.push({ side, partner, linkedMs, connection });
    }
    if (linked.length < 2) return;
    for (const { connection } of surplusLinks(ownHistory, linked, this.#host.elapsed())) {
      connection.end("duplicate", "there is another link between these two");
    }
  }

  tick(): void {
    for (const connection of this.#connections) connection.tick();
    this.endSurplus();
    this.contents?.tick();
    const now = this.#host.now();
    for (const [address, { atMs }] of this.#refused) {
      if (now - atMs > REFUSED_MS) this.#refused.delete(address);
    }
  }

  /** Ends all links, and stops dialling. */
  close(code: ByeCode, message: string): void {
    this.#isClosed = true;
    this.#replications = [];
    this.#secret = undefined;
    for (const { dialler } of this.#dialled.values()) dialler.stop();
    this.#dialled.clear();
    this.#endAll(code, message);
  }

  /** One report for each address of a replication, and for each caller that it applies to. */
  reports(replication?: Replication): LinkReport[] {
    const isOurs = (connection: LinkConnection): boolean => {
      const { address, partner } = connection;
      const link = { address: address && addressKey(address), partner };
      return replication === undefined || isMeant(replication, link, this.#known);
    };
    const addresses = addressesOf(replication === undefined ? this.#replications : [replication]);
    const reports = Array.from(addresses, ([key, address]) => this.#addressReport(key, address));
    for (const connection of this.#connections) {
      if (connection.address === undefined && isOurs(connection)) {
        reports.push(this.#connectionReport(connection, connection.remoteAddress));
      }
    }
    const isWaiting = replication === undefined || replication.connections.length === 0;
    if (isWaiting) reports.push(...this.#refusedReports());
    return reports;
  }

  totals(): LinkTotals {
    const totals = { ...this.#ended };
    for (const connection of this.#connections) this.#add(totals, connection);
    return totals;
  }

  get #known() {
    return { byAddress: this.#byAddress, callers: this.#callers };
  }

  #call(key: string, address: string): void {
    const dialler = new LinkDialler({
      address,
      now: () => this.#host.now(),
      chance: () => this.#host.chance(),
      dial: () => this.#dial(key),
    });
    this.#dialled.set(key, { dialler, connection: undefined, lastError: undefined });
  }

  #dial(key: string): void {
    const dialled = this.#dialled.get(key);
    if (dialled === undefined) return;
    const isWanted = (): boolean => this.#dialled.get(key) === dialled;
    this.#host.dial(this.id, dialled.dialler.address, {
      isWanted,
      opened: (connection) => {
        dialled.connection = connection;
        this.#connections.add(connection);
      },
      failed: (end) => {
        if (!isWanted()) return;
        const { code, message } = end;
        const { address } = dialled.dialler;
        const isRecurring = dialled.lastError?.code === code;
        this.#count(code);
        const side = "dial";
        this.#host.report(this, { kind: "failed", side, address, code, message, isRecurring });
        this.#ending(dialled, end);
      },
    });
  }

  #ending(dialled: Dialled, end: LinkEnd): void {
    dialled.connection = undefined;
    const { code, message } = end;
    dialled.lastError = { code, message, atMs: this.#host.now() };
    dialled.dialler.ended(end);
  }

  /** No replication has the address any more. */
  #drop(key: string, { dialler, connection }: Dialled): void {
    dialler.stop();
    this.#dialled.delete(key);
    this.#byAddress.delete(key);
    connection?.end("stopped", "the address is in no replication any more");
  }

  #endAll(code: ByeCode, message: string): void {
    for (const connection of Array.from(this.#connections)) connection.end(code, message);
  }

  #configure(): void {
    for (const connection of this.#connections) {
      const pulled = this.pulledBy(connection);
      if (pulled.isEager && !connection.isEager) this.contents?.hurry();
      connection.configure(pulled);
    }
  }

  #remember(partner: string): void {
    this.#callers.delete(partner);
    this.#callers.add(partner);
    for (const first of this.#callers) {
      if (this.#callers.size > CALLERS_MAX) this.#callers.delete(first);
    }
  }

  /** The new caller may be the Big Peer that refused this one, or was down, a moment ago. */
  #callBack(): void {
    for (const { dialler, lastError } of this.#dialled.values()) {
      if (lastError?.code !== "duplicate") dialler.hurry();
    }
  }

  #hurry(partner: string): void {
    for (const [key, { dialler, lastError }] of this.#dialled) {
      if (lastError?.code === "duplicate" && this.#byAddress.get(key) === partner) dialler.hurry();
    }
  }

  #addressReport(key: string, address: string): LinkReport {
    const dialled = this.#dialled.get(key);
    const side = "dial";
    if (dialled === undefined) {
      const none = { partner: undefined, lastError: undefined, nextMs: undefined, link: undefined };
      return { side, address, state: "no_secret", sinceMs: this.#sinceMs, ...none };
    }
    const { dialler, connection, lastError } = dialled;
    if (connection !== undefined) return this.#connectionReport(connection, address, dialler);
    const { sinceMs, nextMs } = dialler;
    const partner = this.#byAddress.get(key);
    // Any server at the address could claim to be a duplicate.
    const isDuplicate = lastError?.code === "duplicate" && this.#isLinkedWith(partner);
    const state = isDuplicate ? "duplicate" : waitingState(dialler);
    return { side, address, state, sinceMs, partner, lastError, nextMs, link: undefined };
  }

  #isLinkedWith(partner: string | undefined): boolean {
    if (partner === undefined) return false;
    for (const each of this.#connections)
      if (each.isLinked && each.partner === partner) return true;
    return false;
  }

  #connectionReport(
    connection: LinkConnection,
    address: string,
    dialler?: LinkDialler,
  ): LinkReport {
    const { side, partner, status, isLinked, sinceMs } = connection;
    return {
      side,
      address,
      state: isLinked ? "linked" : "connecting",
      sinceMs: dialler?.sinceMs ?? status?.sinceMs ?? sinceMs,
      partner,
      lastError: status?.lastError,
      nextMs: undefined,
      link: status,
    };
  }

  #refusedReports(): LinkReport[] {
    return Array.from(this.#refused, ([address, lastError]) => ({
      side: "accept",
      address,
      state: "refused",
      sinceMs: lastError.atMs,
      partner: undefined,
      lastError,
      nextMs: undefined,
      link: undefined,
    }));
  }

  #count(code: string): void {
    this.#errors.set(code, (this.#errors.get(code) ?? 0) + 1);
  }

  #add(totals: LinkTotals, { status }: LinkConnection): void {
    if (status === undefined) return;
    totals.pulledDocuments += status.pulled.documents;
    totals.pulledBytes += status.pulled.bytes;
    totals.servedDocuments += status.served.documents;
    totals.servedBytes += status.served.bytes;
  }
}

function isUp(state: LinkState): boolean {
  return state === "linked" || state === "duplicate";
}

function waitingState({ state }: LinkDialler): LinkState {
  return state === "waiting" ? "waiting" : "connecting";
}
