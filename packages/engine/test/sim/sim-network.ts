/**
 * The network of the simulation. A connection is what a WebSocket is: two reliable streams of whole
 * messages in order, as long as it holds. So what can go wrong is what goes wrong with these: it is cut
 * and what was on its way is lost; one side does not hear of it for long, or never; what one side sent
 * still arrives when it has opened another connection already; nobody reads for a while; nothing passes.
 */

import type { Channel } from "../../src/platform.ts";
import type { Scheduler } from "./scheduler.ts";
import type { Life } from "./sim-node.ts";

/** Who is told of what comes in at one end of a connection. */
export interface Receiver {
  message(bytes: Uint8Array): void;
  /** What was sent has been taken by the network. */
  drained(): void;
  closed(reason: string): void;
}

export interface Accepting {
  /** Undefined when nobody listens. */
  accept(
    end: End,
    dialler: string,
  ): { readonly receiver: Receiver; readonly life: Life } | undefined;
}

export interface Dialled {
  readonly opened: (channel: Channel) => void;
  readonly message: (bytes: Uint8Array) => void;
  /** What was sent has been taken by the network. */
  readonly drained?: () => void;
  readonly closed: (reason: string) => void;
}

/** Bytes for each millisecond. */
const RATE = 400;

/** Nothing passes the network, or the receiver does not read. */
type Hold = "partition" | "receiver";

/** One direction of a connection. */
class Pipe {
  readonly #scheduler: Scheduler;
  readonly #to: () => End;
  readonly #onDrained: () => void;
  readonly #queue: Uint8Array[] = [];
  #queuedBytes = 0;
  #isTaking = false;
  #lastArrival = 0;
  #stalledUntil = 0;
  rate = RATE;
  latencyMs: number;
  /** Messages that were taken and have not arrived. */
  inFlight = 0;
  /** Nothing that has not arrived ever will. */
  isBroken = false;
  /** The other side hears that this is the end when all has arrived. */
  #isEnding = false;
  /** What has arrived and was not handed over, in order: nothing passes it. */
  readonly #arrived: (() => void)[] = [];
  /** Why nothing is handed over for now. */
  readonly #holds = new Set<Hold>();
  #isHandingOver = false;

  constructor(scheduler: Scheduler, to: () => End, onDrained: () => void) {
    this.#scheduler = scheduler;
    this.#to = to;
    this.#onDrained = onDrained;
    this.latencyMs = scheduler.between(0.3, 40);
  }

  get queuedBytes(): number {
    return this.#queuedBytes;
  }

  /** Nothing is queued, on its way, or waits to be handed over. */
  get isIdle(): boolean {
    return this.#queuedBytes + this.inFlight + this.#arrived.length === 0;
  }

  send(bytes: Uint8Array): void {
    this.#queue.push(bytes);
    this.#queuedBytes += bytes.length;
    this.#take();
  }

  end(): void {
    this.#isEnding = true;
    if (this.#queue.length === 0) this.#arrive(() => this.#to().hangUp("the other side closed"));
  }

  /** Nothing is taken for a while. */
  stall(untilMs: number): void {
    this.#stalledUntil = Math.max(this.#stalledUntil, untilMs);
  }

  hold(why: Hold = "partition"): void {
    this.#holds.add(why);
  }

  release(why: Hold = "partition"): void {
    this.#holds.delete(why);
    if (!this.#isHandingOver) this.#handOver();
  }

  /** One after the other: each is an event of its own. */
  #handOver(): void {
    const work = this.#holds.size > 0 || this.isBroken ? undefined : this.#arrived.shift();
    this.#isHandingOver = work !== undefined;
    if (work === undefined) return;
    work();
    if (this.#arrived.length === 0) this.#isHandingOver = false;
    else this.#scheduler.after(0.05, () => this.#handOver());
  }

  #take(): void {
    const [first] = this.#queue;
    if (this.#isTaking || first === undefined) return;
    this.#isTaking = true;
    const start = Math.max(this.#scheduler.now, this.#stalledUntil);
    const delay = start - this.#scheduler.now + first.length / this.rate;
    this.#scheduler.after(delay, () => this.#taken());
  }

  #taken(): void {
    this.#isTaking = false;
    if (this.#stalledUntil > this.#scheduler.now) return this.#take();
    const bytes = this.#queue.shift();
    if (bytes === undefined) return;
    this.#queuedBytes -= bytes.length;
    this.#arrive(() => this.#to().receive(bytes));
    if (this.#queue.length > 0) return this.#take();
    if (this.#isEnding) this.#arrive(() => this.#to().hangUp("the other side closed"));
    this.#onDrained();
  }

  #arrive(work: () => void): void {
    const { now } = this.#scheduler;
    const time = Math.max(this.#lastArrival + 0.001, now + this.latencyMs * this.#jitter());
    this.#lastArrival = time;
    this.inFlight++;
    this.#scheduler.after(time - now, () => {
      this.inFlight--;
      if (this.isBroken) return;
      this.#arrived.push(work);
      if (!this.#isHandingOver) this.#handOver();
    });
  }

  #jitter(): number {
    return this.#scheduler.random.chance(0.05) ? 10 : 1 + this.#scheduler.random.below(10) / 10;
  }
}

/** One end of a connection: the channel of those who are there. */
export class End implements Channel {
  readonly connection: SimConnection;
  readonly #pipe: () => Pipe;
  readonly #incoming: () => Pipe;
  readonly #scheduler: Scheduler;
  receiver: Receiver | undefined;
  life: Life | undefined;
  /** Sees all that is sent, before it is. */
  onSend: ((bytes: Uint8Array) => void) | undefined;
  #state: "open" | "closing" | "closed" = "open";

  constructor(
    connection: SimConnection,
    scheduler: Scheduler,
    pipes: { readonly outgoing: () => Pipe; readonly incoming: () => Pipe },
  ) {
    this.connection = connection;
    this.#scheduler = scheduler;
    this.#pipe = pipes.outgoing;
    this.#incoming = pipes.incoming;
  }

  get isClosed(): boolean {
    return this.#state === "closed";
  }

  get queuedBytes(): number {
    return this.#pipe().queuedBytes;
  }

  send(bytes: Uint8Array): void {
    if (this.#state !== "open") return;
    this.onSend?.(bytes);
    this.#pipe().send(bytes);
  }

  close(): void {
    if (this.#state !== "open") return;
    this.#state = "closing";
    this.#pipe().end();
    this.#scheduler.after(this.#scheduler.between(1, 60), () => this.hangUp("closed"));
  }

  /** Whether this side does not read for now. */
  hold(isHeld: boolean): void {
    if (isHeld) this.#incoming().hold("receiver");
    else this.#incoming().release("receiver");
  }

  receive(bytes: Uint8Array): void {
    if (this.#state === "closed" || this.life?.isAlive !== true) return;
    this.receiver?.message(bytes);
  }

  drained(): void {
    if (this.#state === "closed" || this.life?.isAlive !== true) return;
    this.receiver?.drained();
  }

  /** This side hears that the connection is over. */
  hangUp(reason: string): void {
    if (this.#state === "closed") return;
    this.#state = "closed";
    this.connection.network.forget(this.connection);
    if (this.life?.isAlive === true) this.receiver?.closed(reason);
  }
}

export class SimConnection {
  readonly network: SimNetwork;
  readonly dialler: string;
  readonly number: number;
  readonly client: End;
  readonly server: End;
  readonly up: Pipe;
  readonly down: Pipe;

  constructor(network: SimNetwork, dialler: string, number: number) {
    const { scheduler } = network;
    this.network = network;
    this.dialler = dialler;
    this.number = number;
    this.up = new Pipe(
      scheduler,
      () => this.server,
      () => this.client.drained(),
    );
    this.down = new Pipe(
      scheduler,
      () => this.client,
      () => this.server.drained(),
    );
    const [up, down] = [() => this.up, () => this.down];
    this.client = new End(this, scheduler, { outgoing: up, incoming: down });
    this.server = new End(this, scheduler, { outgoing: down, incoming: up });
  }

  get isOver(): boolean {
    return this.client.isClosed && this.server.isClosed;
  }

  /**
   * The connection breaks. `late`: what the client had sent arrives when it knows already, and may have
   * another connection. Each side hears of it soon, or has to find out by silence.
   */
  cut(kind: "both" | "client" | "server" | "neither" | "late"): void {
    const { scheduler } = this.network;
    this.down.isBroken = true;
    if (kind === "late") {
      const ms = scheduler.between(50, 4000);
      this.up.latencyMs += ms;
      this.client.hangUp("cut");
      scheduler.after(ms * 11, () => this.server.hangUp("cut"));
      return;
    }
    this.up.isBroken = true;
    if (kind === "both" || kind === "client") this.#report(this.client);
    if (kind === "both" || kind === "server") this.#report(this.server);
  }

  #report(end: End): void {
    this.network.scheduler.after(this.network.scheduler.between(0, 300), () => end.hangUp("cut"));
  }
}

export class SimNetwork {
  readonly scheduler: Scheduler;
  readonly #accepting: Accepting;
  readonly #partitioned = new Set<string>();
  readonly connections = new Set<SimConnection>();
  #count = 0;

  constructor(scheduler: Scheduler, accepting: Accepting) {
    this.scheduler = scheduler;
    this.#accepting = accepting;
  }

  forget(connection: SimConnection): void {
    if (connection.isOver) this.connections.delete(connection);
  }

  of(dialler: string): SimConnection[] {
    return [...this.connections].filter((connection) => connection.dialler === dialler);
  }

  isPartitioned(dialler: string): boolean {
    return this.#partitioned.has(dialler);
  }

  partition(dialler: string): void {
    this.#partitioned.add(dialler);
    for (const { up, down } of this.of(dialler)) {
      up.hold();
      down.hold();
    }
  }

  heal(dialler: string): void {
    this.#partitioned.delete(dialler);
    for (const { up, down } of this.of(dialler)) {
      up.release();
      down.release();
    }
  }

  dial(dialler: string, life: Life, handlers: Dialled): { close(): void } {
    const { scheduler } = this;
    let connection: SimConnection | undefined;
    let isGivenUp = false;
    const fail = (reason: string, delay: number): void => {
      life.after(delay, () => {
        if (!isGivenUp) handlers.closed(reason);
      });
    };
    life.after(scheduler.between(0.5, 50), () => {
      if (isGivenUp) return;
      if (this.isPartitioned(dialler)) return fail("no route", scheduler.between(200, 15_000));
      connection = this.#connect(dialler);
      if (connection === undefined) return fail("refused", scheduler.between(0.5, 50));
      this.#meet(connection.client, life, handlers);
    });
    return {
      close: () => {
        isGivenUp = true;
        connection?.client.close();
      },
    };
  }

  #connect(dialler: string): SimConnection | undefined {
    const connection = new SimConnection(this, dialler, ++this.#count);
    const accepted = this.#accepting.accept(connection.server, dialler);
    if (accepted === undefined) return undefined;
    connection.server.receiver = accepted.receiver;
    connection.server.life = accepted.life;
    this.connections.add(connection);
    return connection;
  }

  #meet(client: End, life: Life, handlers: Dialled): void {
    client.life = life;
    let isOpen = false;
    const waiting: Uint8Array[] = [];
    client.receiver = {
      message: (bytes) => {
        if (isOpen) handlers.message(bytes);
        else waiting.push(bytes);
      },
      drained: () => handlers.drained?.(),
      closed: (reason) => handlers.closed(reason),
    };
    life.after(this.scheduler.between(0.5, 50), () => {
      if (client.isClosed) return;
      isOpen = true;
      handlers.opened(client);
      for (const bytes of waiting) handlers.message(bytes);
    });
  }
}
