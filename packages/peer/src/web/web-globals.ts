/**
 * Web globals: the parts of a browser that pages and workers use and that Node does not have, as
 * interfaces. So the compiler needs no types of a browser, which contradict those of Node.
 */

export interface WebLocks {
  /** `callback` gets null if the lock is not available. It is held until the promise settles. */
  request(
    name: string,
    options: WebLockOptions,
    callback: (lock: object | null) => Promise<void> | void,
  ): Promise<void>;
}

export interface WebLockOptions {
  readonly mode?: "exclusive" | "shared";
  readonly ifAvailable?: boolean;
  readonly signal?: AbortSignal;
}

export interface WebStorage {
  estimate(): Promise<{ readonly usage?: number; readonly quota?: number }>;
  persist(): Promise<boolean>;
  persisted(): Promise<boolean>;
}

/** A message that came. */
export interface Received<Message> {
  readonly data: Message;
}

/** One end of a connection between a page and a worker. Setting `onmessage` starts it. */
export interface WebPort {
  onmessage: ((event: Received<never>) => void) | null;
  postMessage(message: unknown): void;
}

/** Sets the receiver of the messages of a port, and starts the port; undefined removes it. */
export function listen(port: WebPort, listener: ((message: never) => void) | undefined): void {
  // oxlint-disable-next-line unicorn/prefer-add-event-listener -- there is one listener at a time.
  port.onmessage =
    listener === undefined ? null : ({ data }: Received<never>): void => listener(data);
}

/** A channel to all pages and workers of the origin that know its name. */
export interface WebChannel extends WebPort {
  close(): void;
}

export interface WebSharedWorker {
  readonly port: WebPort;
  addEventListener(name: "error", listener: () => void): void;
}

export interface PageShown {
  /** Whether the browser keeps or has kept the page, with all its state, while it is not shown. */
  readonly persisted: boolean;
}

export interface WebGlobals {
  /** Whether the page has https or is of this machine. Other pages have no locks, among others. */
  readonly isSecureContext: boolean;
  readonly navigator: {
    readonly userAgent: string;
    readonly locks: WebLocks;
    readonly storage?: WebStorage;
  };
  readonly location: { readonly href: string };
  /** In a SharedWorker, the name that the page gave it. */
  readonly name: string;
  readonly SharedWorker?: new (
    url: string,
    options: { readonly name: string; readonly type: "module" },
  ) => WebSharedWorker;
  readonly BroadcastChannel: new (name: string) => WebChannel;
  readonly MessageChannel: new () => { readonly port1: WebPort; readonly port2: WebPort };
  /** Only in a SharedWorker. */
  readonly SharedWorkerGlobalScope?: unknown;
  addEventListener(name: "pagehide" | "pageshow", listener: (event: PageShown) => void): void;
  addEventListener(name: "connect", listener: (event: WorkerConnected) => void): void;
  removeEventListener(name: "pagehide" | "pageshow", listener: (event: PageShown) => void): void;
  removeEventListener(name: "connect", listener: (event: WorkerConnected) => void): void;
  dispatchEvent(event: WorkerConnected): void;
}

export interface WorkerConnected {
  readonly ports: readonly WebPort[];
}

export const web: WebGlobals = globalThis as unknown as WebGlobals;
