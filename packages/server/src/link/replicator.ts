/**
 * Replicator: all links of all apps to other Big Peers, as the registry configures them.
 *
 * It follows the registry while it runs: it dials added addresses, ends removed links, and changes
 * what the existing ones pull (S56). The replication port is open while there is a replication
 * secret. An app is opened for its links and stays open as long as it has one.
 */

import { createHash } from "node:crypto";
import type { Platform } from "@bigpeer/engine";
import { Link } from "@bigpeer/engine/link";
import type { SystemRow } from "@bigpeer/engine/query";
import { isLoopbackHost } from "../address/loopback.ts";
import type { OpenApp } from "../apps/open-app.ts";
import type { AppUse } from "../apps/open-apps.ts";
import { FailedCredentials } from "../auth/failed-credentials.ts";
import type { Config } from "../config/config.ts";
import type { UpgradeRequest } from "../http/http-server.ts";
import { readTls } from "../http/tls.ts";
import {
  LINK_GREETING_SIZE_MAX,
  LINK_HANDSHAKE_MS_MAX,
  LINK_UNREAD_SIZE_MAX,
  SYNC_CLOSE_MS_MAX,
} from "../limits/limits.ts";
import type { LinkStats } from "../observability/link-metrics.ts";
import { describeError, type Log, type LogLevel } from "../observability/log.ts";
import { linkLine } from "../observability/log-events.ts";
import type { Registry, RegistryChange } from "../registry/registry.ts";
import type { Replication } from "../registry/replications.ts";
import type { DialOptions } from "../sync/dial.ts";
import { ChannelMaker } from "../sync/web-socket.ts";
import { AppContents, type ContentOutcome } from "./app-contents.ts";
import { HeldApps } from "./held-apps.ts";
import { hmacOf, type IncomingLink, type PassedLink, type ProvenLink } from "./incoming-link.ts";
import { LinkConnection } from "./link-connection.ts";
import type { LinkEnd } from "./link-dialler.ts";
import { LinkFiles } from "./link-files.ts";
import { LINK_PATH, LinkListener } from "./link-listener.ts";
import { ELSEWHERE, LinkRelays } from "./link-relays.ts";
import { type LinkReport, syncRow } from "./link-report.ts";
import { linkStats, NO_LINK_STATS } from "./link-stats.ts";
import { type Attempt, type LinkEvent, LinkedApp } from "./linked-app.ts";

/** The registry and the apps that links need. */
export interface LinkSource {
  readonly registry: Pick<Registry, "replications" | "replicationSecrets">;
  readonly apps: { use(id: string): Promise<AppUse> };
}

export interface ReplicatorOptions {
  readonly config: Pick<
    Config,
    "replicationPort" | "replicationHost" | "replicationSecret" | "replicationTls"
  >;
  /** The streams of an open app, which links share with its peers. */
  readonly streamsOf: (app: OpenApp) => LinkStreams;
  readonly platform: Platform;
  readonly log: Log;
  /** Undefined on one machine. */
  readonly cluster?: LinkCluster | undefined;
}

/** The nodes of a cluster, among which one runs the links of an app. */
export interface LinkCluster {
  /** Whether this node evaluates an open app: only then it runs its links. */
  readonly evaluates: (appId: string) => boolean;
  /** How the node that does is dialled; undefined if there is none now. */
  readonly targetOf: (appId: string) => DialOptions | undefined;
}

type LinkStreams = ConstructorParameters<typeof Link>[0]["streams"];

const TICK_MS = 1_000;

/** When a port that could not be opened is tried again. */
const LISTEN_RETRY_MS = 10_000;

/** When a connected Big Peer retries at an app that cannot be opened now. */
const OPENING_AFTER_MS = 5_000;

const CHANCES = 2 ** 32;

export class Replicator {
  readonly #options: ReplicatorOptions;
  readonly #channels = new ChannelMaker(LINK_UNREAD_SIZE_MAX, LINK_GREETING_SIZE_MAX);
  readonly #relays: LinkRelays;
  readonly #failed: FailedCredentials;
  readonly #apps = new Map<string, LinkedApp>();
  /** Refusals of callers that named no existing app, by the reason. */
  readonly #strangers = new Map<string, number>();
  #source: LinkSource | undefined;
  #listener: LinkListener | undefined;
  #listening: Promise<void> | undefined;
  #listenRetryMs = 0;
  #tls: DialOptions["tls"];
  #timer: NodeJS.Timeout | undefined;
  /** Dial attempts without a result, and how each is given up. */
  readonly #calls = new Map<Attempt, () => void>();
  /** Ended links whose last documents are being merged. */
  readonly #releases = new Set<Promise<void>>();
  /** In a cluster an app with links is open on every node, so that one of them evaluates it. */
  readonly #held: HeldApps | undefined;
  #isReviewDue = false;
  #isClosed = false;
  #onEmpty: (() => void) | undefined;

  constructor(options: ReplicatorOptions) {
    this.#options = options;
    this.#failed = new FailedCredentials(() => options.platform.elapsed());
    const targetOf = (appId: string): DialOptions | undefined => options.cluster?.targetOf(appId);
    this.#relays = new LinkRelays(this.#channels, targetOf);
    this.#held =
      options.cluster &&
      new HeldApps({
        use: (id) => this.#use(id),
        elapsed: () => options.platform.elapsed(),
        fault: (id, error) => this.#fault(id, error),
      });
  }

  /** Where other Big Peers connect; undefined while the port is closed. */
  get url(): string | undefined {
    return this.#listener?.url;
  }

  /** Connections to the replication port that have not proved a secret. */
  get incomingCount(): number {
    return this.#listener?.incomingCount ?? 0;
  }

  /** Throws PeerError `config.invalid` if the port cannot be opened or TLS files are invalid. */
  async start(source: LinkSource): Promise<void> {
    this.#source = source;
    this.#readTls();
    this.#timer = setInterval(() => this.#tick(), TICK_MS);
    this.#timer.unref();
    if (this.#isPortWanted) await this.#listen();
    this.#review();
  }

  /** Call when the registry has changed. */
  registryChanged({ isOfLinks, appIds }: Pick<RegistryChange, "isOfLinks" | "appIds">): void {
    if ((!isOfLinks && appIds.size === 0) || this.#isReviewDue || this.#isClosed) return;
    this.#isReviewDue = true;
    // Several changes at once need one check.
    setImmediate(() => this.#review());
  }

  /** Call when this node of a cluster begins or ceases to evaluate an app. */
  rolesChanged(): void {
    this.registryChanged({ isOfLinks: true, appIds: new Set() });
  }

  /** Takes a link that another node of the cluster passes on. False while the port is closed. */
  takePassed(asked: UpgradeRequest, passed: PassedLink): boolean {
    this.#listener?.takePassed(asked, passed);
    return this.#listener !== undefined;
  }

  /** Call before an app is closed: its links end. */
  appClosing(app: OpenApp): void {
    const linked = this.#apps.get(app.id);
    if (linked?.contents?.app === app) linked.contents = undefined;
    for (const connection of Array.from(linked?.connections ?? [])) {
      connection.end("closing", "the app is closing");
    }
    this.#held?.closing(app.id);
  }

  /** Reads the TLS files again; the previous ones stay if these are invalid. */
  reloadTls(): void {
    try {
      this.#readTls();
    } catch (error) {
      this.#options.log(
        "error",
        `links go on with the certificate before: ${describeError(error)}`,
      );
    }
    this.#listener?.reloadTls();
  }

  /** Sends `bye` on all links, and cuts those that do not close in time. May be called again. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#timer);
    for (const app of this.#apps.values()) app.close("closing", "the server is closing");
    this.#giveUpCalls();
    this.#relays.close();
    await this.#listening?.catch(() => {});
    await Promise.all([this.#listener?.close(), this.#emptied()]);
    await Promise.all(this.#releases);
  }

  /** Whether another node of the cluster runs the links of an app. */
  isElsewhere(appId: string): boolean {
    return this.#options.cluster?.evaluates(appId) === false;
  }

  /** Searches a missing content at the partners of the app. Never rejects. */
  findContent(app: OpenApp, id: string): Promise<ContentOutcome> {
    const linked = this.#apps.get(app.id);
    if (linked === undefined) return Promise.resolve("missing");
    return this.#contentsOf(linked, app).find(id);
  }

  /** Contents that an app refers to and does not have; undefined if it was not linked. */
  async missingContents(appId: string): Promise<number | undefined> {
    return this.#apps.get(appId)?.contents?.count();
  }

  /** Reports on the links of one replication. */
  reports(replication: Replication): LinkReport[] {
    return this.#apps.get(replication.appId)?.reports(replication) ?? [];
  }

  /** Rows of `system:data_sync_info`: one for each partner of an app. */
  syncRows(appId: string): SystemRow[] {
    const rows = new Map<string, SystemRow>();
    for (const report of this.#apps.get(appId)?.reports() ?? []) {
      const row = syncRow(report);
      if (row === undefined || typeof row.id !== "string") continue;
      if (report.state === "linked" || !rows.has(row.id)) rows.set(row.id, row);
    }
    return [...rows.values()];
  }

  /** By app; callers that named no existing app count for the app "". */
  *stats(): Iterable<[appId: string, stats: LinkStats]> {
    for (const [appId, app] of this.#apps) yield [appId, linkStats(app)];
    if (this.#strangers.size > 0) yield ["", { ...NO_LINK_STATS, errors: this.#strangers }];
  }

  get #isPortWanted(): boolean {
    const { replicationPort, replicationSecret } = this.#options.config;
    if (replicationPort === undefined || this.#isClosed) return false;
    const { replicationSecrets } = this.#source?.registry ?? {};
    return replicationSecret !== undefined || (replicationSecrets?.count ?? 0) > 0;
  }

  #secretOf(appId: string): string | undefined {
    const own = this.#source?.registry.replicationSecrets.get(appId);
    return own ?? this.#options.config.replicationSecret;
  }

  #readTls(): void {
    const { replicationTls } = this.#options.config;
    if (replicationTls === undefined) return;
    const { cert, key, ca, minVersion } = readTls(replicationTls);
    this.#tls = { cert, key, minVersion, ...(ca !== undefined && { ca }) };
  }

  /** Applies all replications of the registry. Never throws. */
  #review(): void {
    this.#isReviewDue = false;
    if (this.#isClosed || this.#source === undefined) return;
    try {
      this.#follow(this.#source);
    } catch (error) {
      const what = "failed to apply the replications of the apps (links stay as they are)";
      this.#options.log("error", `${what}: ${describeError(error)}`);
    }
    void this.#keepPort();
  }

  #follow({ registry }: LinkSource): void {
    const byApp = new Map<string, Replication[]>();
    for (const replication of registry.replications.all()) {
      const known = byApp.get(replication.appId);
      if (known === undefined) byApp.set(replication.appId, [replication]);
      else known.push(replication);
    }
    for (const [id, app] of this.#apps) {
      if (byApp.has(id)) continue;
      app.close("stopped", "the app has no replication any more");
      if (app.connections.size === 0) this.#apps.delete(id);
    }
    for (const [id, replications] of byApp) {
      const secret = this.#secretOf(id);
      if (this.isElsewhere(id)) this.#rest(this.#appOf(id), secret);
      else this.#appOf(id).follow(replications, secret);
    }
    this.#held?.hold([...byApp.keys()]);
  }

  /** Another node of the cluster runs the links of the app. */
  #rest(app: LinkedApp, secret: string | undefined): void {
    app.follow([], secret);
    for (const connection of Array.from(app.connections)) connection.end(...ELSEWHERE);
  }

  #appOf(id: string): LinkedApp {
    const known = this.#apps.get(id);
    if (known !== undefined) return known;
    const { platform } = this.#options;
    const made = new LinkedApp(id, {
      now: () => platform.now(),
      elapsed: () => platform.elapsed(),
      chance: () => Buffer.from(platform.random(4)).readUInt32BE() / CHANCES,
      dial: (appId, address, attempt) => this.#dial(appId, address, attempt),
      report: (app, linkEvent) => this.#report(app, linkEvent),
    });
    this.#apps.set(id, made);
    return made;
  }

  /** Opens or closes the replication port, as it is needed now. Never rejects. */
  async #keepPort(): Promise<void> {
    const { log, platform } = this.#options;
    try {
      if (this.#isPortWanted && this.#listener === undefined) {
        if (platform.elapsed() < this.#listenRetryMs) return;
        this.#listenRetryMs = platform.elapsed() + LISTEN_RETRY_MS;
        await this.#listen();
      } else if (!this.#isPortWanted && this.#listener !== undefined && !this.#isClosed) {
        const listener = this.#listener;
        this.#listener = undefined;
        log("info", "the replication port is closed: there is no replication secret any more");
        await listener.close();
      }
    } catch (error) {
      log("error", `failed to open the replication port: ${describeError(error)}`);
    }
  }

  #listen(): Promise<void> {
    this.#listening ??= this.#open().finally(() => {
      this.#listening = undefined;
    });
    return this.#listening;
  }

  async #open(): Promise<void> {
    const { config, platform, log } = this.#options;
    const listener = new LinkListener({
      host: config.replicationHost,
      port: config.replicationPort ?? 0,
      tls: config.replicationTls,
      channels: this.#channels,
      log,
      elapsed: () => platform.elapsed(),
      random: (size) => platform.random(size),
      acceptedCount: () => this.#acceptedCount(),
      secretOf: (appId) => this.#apps.get(appId)?.secret,
      admits: (address, appId, secret) => this.#admits(address, appId, secret),
      onProven: (link) => this.#accept(link),
      onRefused: (incoming, end) => this.#refuse(incoming, end),
    });
    await listener.listen();
    if (this.#isClosed) return listener.close();
    this.#listener = listener;
    log("info", "the replication port is open", { url: listener.url });
    if (config.replicationTls !== undefined || isLoopbackHost(config.replicationHost)) return;
    log("warn", "links are not encrypted: set replication-tls-cert, unless the network is trusted");
  }

  #dial(appId: string, address: string, attempt: Attempt): void {
    const url = `${this.#tls === undefined ? "ws" : "wss"}://${address}${LINK_PATH}`;
    const tls = this.#tls === undefined ? {} : { tls: this.#tls };
    const fail = (error: unknown): void => {
      this.#calls.delete(attempt);
      const message = error instanceof Error ? error.message : String(error);
      attempt.failed({
        code: "unreachable",
        message: message || "the other Big Peer does not answer",
      });
    };
    try {
      const giveUp = this.#channels.dial(
        { url, timeoutMs: LINK_HANDSHAKE_MS_MAX, ...tls },
        {
          failed: fail,
          opened: (channel) => {
            this.#calls.delete(attempt);
            if (!attempt.isWanted() || this.#isClosed) return channel.cut();
            const options = { channel, side: "dial", address, remoteAddress: address } as const;
            const connection = this.#connectionOf(appId, options);
            attempt.opened(connection);
            void this.#begin(appId, connection);
          },
        },
      );
      this.#calls.set(attempt, giveUp);
    } catch (error) {
      fail(error);
    }
  }

  /** Gives up attempts that are no longer wanted. */
  #giveUpCalls(): void {
    for (const [attempt, giveUp] of Array.from(this.#calls)) if (!attempt.isWanted()) giveUp();
  }

  #accept(proven: ProvenLink): void {
    const { appId, channel, remoteAddress, isPassedOn } = proven;
    const isElsewhere = this.isElsewhere(appId);
    if (isElsewhere && !isPassedOn) return this.#relays.pass(proven);
    const connection = this.#connectionOf(appId, { channel, side: "accept", remoteAddress });
    this.#appOf(appId).accept(connection);
    if (isElsewhere) return connection.end(...ELSEWHERE);
    void this.#begin(appId, connection, proven);
  }

  #connectionOf(
    appId: string,
    options: Pick<LinkConnection, "side" | "remoteAddress"> & {
      readonly channel: ConstructorParameters<typeof LinkConnection>[0]["channel"];
      readonly address?: string;
    },
  ): LinkConnection {
    const { platform } = this.#options;
    const app = this.#appOf(appId);
    return new LinkConnection({
      ...options,
      elapsed: () => platform.elapsed(),
      now: () => platform.now(),
      host: {
        linked: (connection) => app.linked(connection),
        ended: (connection, end) => this.#ended(app, connection, end),
        failed: (_connection, error) => this.#fault(appId, error),
      },
    });
  }

  /** Opens the app and starts the link. Never rejects. */
  async #begin(appId: string, connection: LinkConnection, proven?: ProvenLink): Promise<void> {
    try {
      const use = await this.#use(appId);
      try {
        this.#speak(use, connection, proven);
      } catch (error) {
        use.release();
        throw error;
      }
    } catch (error) {
      this.#fault(appId, error);
      connection.end("busy", "the app cannot be opened now", OPENING_AFTER_MS);
    }
  }

  #use(appId: string): Promise<AppUse> {
    if (this.#source === undefined) throw new Error("expected a source of apps");
    return this.#source.apps.use(appId);
  }

  #speak(use: AppUse, connection: LinkConnection, proven: ProvenLink | undefined): void {
    const { platform, streamsOf } = this.#options;
    const { app } = use;
    const linked = this.#appOf(app.id);
    const streams = streamsOf(app);
    const contents = this.#contentsOf(linked, app);
    connection.configure(linked.pulledBy(connection));
    const { store, attachments } = app;
    const files = new LinkFiles({ store, attachments, contents, link: connection });
    connection.begin(use, proven?.heard ?? [], (channel, onEvent) => {
      return new Link({
        store,
        platform,
        appId: app.id,
        attachments: files,
        streams,
        channel,
        side: connection.side,
        queries: connection.pulled.queries,
        hmac: (bytes) => (linked.secret === undefined ? undefined : hmacOf(linked.secret, bytes)),
        onEvent,
        ...(proven && { nonce: proven.nonce }),
      });
    });
  }

  #contentsOf(linked: LinkedApp, app: OpenApp): AppContents {
    const known = linked.contents;
    if (known?.app === app) return known;
    const made = new AppContents(app, linked, {
      elapsed: () => this.#options.platform.elapsed(),
      fault: (error) => this.#fault(app.id, error),
    });
    linked.contents = made;
    return made;
  }

  #ended(app: LinkedApp, connection: LinkConnection, end: LinkEnd): void {
    app.ended(connection, end);
    const released = connection.released.finally(() => this.#releases.delete(released));
    this.#releases.add(released);
    if (app.isClosed && app.connections.size === 0) this.#apps.delete(app.id);
    if (this.#isClosed && this.#connectionCount() === 0) this.#onEmpty?.();
  }

  /** As for every credential (H43): a right guess must look like a wrong one (S83). */
  #admits(address: string, appId: string, secret: string): boolean {
    const name = `${appId} ${createHash("sha256").update(secret).digest("base64")}`;
    return this.#failed.admits(address, name);
  }

  /** Records a refusal. An address with many of them is sent a time to wait. */
  #refuse({ appId, remoteAddress }: IncomingLink, end: LinkEnd): number | undefined {
    const { code } = end;
    const app = appId === undefined ? undefined : this.#apps.get(appId);
    if (STRANGE_CODES.has(code)) this.#failed.note(remoteAddress);
    const seconds = this.#failed.retryAfterSeconds(remoteAddress);
    const message = app === undefined ? end.message : this.#reasonOf(app, end);
    if (app === undefined) this.#strangers.set(code, (this.#strangers.get(code) ?? 0) + 1);
    else app.refused(remoteAddress, { code, message });
    const level = seconds === undefined ? "warn" : "debug";
    const event = { side: "accept", address: remoteAddress, code } as const;
    linkLine(this.#options.log, level, "a link was refused", { ...event, appId: app?.id, message });
    return seconds === undefined ? undefined : seconds * 1000;
  }

  /** The reason for the operator, which the caller does not get. */
  #reasonOf({ secret }: LinkedApp, { code, message }: LinkEnd): string {
    if (code !== "unauthorized") return message;
    if (secret === undefined) return "the app has no replication secret here";
    return "the other side has another replication secret";
  }

  #report({ id: appId }: LinkedApp, linkEvent: LinkEvent): void {
    const { kind, isRecurring: _, ...event } = linkEvent;
    const { log } = this.#options;
    if (kind === "linked") return linkLine(log, "info", "a link is up", { appId, ...event });
    const level = levelOf(linkEvent);
    const message = kind === "ended" ? "a link ended" : "a Big Peer could not be reached";
    linkLine(log, this.#isClosed ? "debug" : level, message, { appId, ...event });
  }

  #tick(): void {
    this.#listener?.tick();
    this.#relays.tick();
    this.#giveUpCalls();
    this.#held?.tick();
    for (const [id, app] of this.#apps) {
      try {
        app.tick();
      } catch (error) {
        this.#fault(id, error);
      }
    }
    void this.#keepPort();
  }

  #fault(appId: string, error: unknown): void {
    this.#options.log("error", `failed to replicate the app ${appId}: ${describeError(error)}`);
  }

  #acceptedCount(): number {
    let count = this.#relays.count;
    for (const { connections } of this.#apps.values()) {
      for (const { side } of connections) if (side === "accept") count++;
    }
    return count;
  }

  #connectionCount(): number {
    let count = 0;
    for (const { connections } of this.#apps.values()) count += connections.size;
    return count;
  }

  /** Resolves when no link is left; cuts those that stay. */
  #emptied(): Promise<void> {
    if (this.#connectionCount() === 0) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = setTimeout(() => {
        for (const { connections } of this.#apps.values()) {
          for (const connection of connections) connection.cut();
        }
      }, SYNC_CLOSE_MS_MAX);
      this.#onEmpty = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}

/** Codes of refused callers that are no Big Peer, or not one of this app. */
const STRANGE_CODES: ReadonlySet<string> = new Set(["unauthorized", "malformed", "version"]);

/** An intended end is no warning, and a repeated one is for debugging. */
function levelOf({ code = "", isRecurring }: LinkEvent): LogLevel {
  if (isRecurring === true || code === "duplicate") return "debug";
  return code === "stopped" || code === "closing" ? "info" : "warn";
}
