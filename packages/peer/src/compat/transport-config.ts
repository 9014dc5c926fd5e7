/**
 * Transport config: what an app sets of transports. It is kept as it was set; the one transport here
 * is the WebSocket to the server of the config.
 */

import { Logger } from "./logger.ts";

export interface TransportConfigLan {
  isEnabled: boolean;
  isMdnsEnabled: boolean;
  isMulticastEnabled: boolean;
}

export interface TransportConfigPeerToPeer {
  bluetoothLE: { isEnabled: boolean };
  awdl: { isEnabled: boolean };
  wifiAware: { isEnabled: boolean };
  lan: TransportConfigLan;
}

export interface TransportConfigConnect {
  tcpServers: string[];
  websocketURLs: string[];
  retryInterval: number;
}

export interface TransportConfigListenTCP {
  isEnabled: boolean;
  interfaceIP: string;
  port: number;
}

export interface TransportConfigListenHTTP {
  isEnabled: boolean;
  interfaceIP: string;
  port: number;
  websocketSync: boolean;
  tlsKeyPath?: string;
  tlsCertificatePath?: string;
}

export interface TransportConfigListen {
  tcp: TransportConfigListenTCP;
  http: TransportConfigListenHTTP;
}

export interface TransportConfigGlobal {
  syncGroup: number;
  routingHint: number;
}

export type TransportCondition =
  | "Unknown"
  | "OK"
  | "GenericFailure"
  | "AppInBackground"
  | "MDNSFailure"
  | "TCPListenFailure"
  | "NoBLECentralPermission"
  | "NoBLEPeripheralPermission"
  | "CannotEstablishConnection"
  | "BLEDisabled"
  | "NoBLEHardware"
  | "WiFiDisabled"
  | "TemporarilyUnavailable";

export type ConditionSource = "BLE" | "TCP" | "AWDL" | "MDNS" | "WiFiAware";

export class TransportConfig {
  readonly peerToPeer: TransportConfigPeerToPeer = {
    bluetoothLE: { isEnabled: false },
    awdl: { isEnabled: false },
    wifiAware: { isEnabled: false },
    lan: { isEnabled: false, isMdnsEnabled: true, isMulticastEnabled: true },
  };
  readonly connect: TransportConfigConnect = {
    tcpServers: [],
    websocketURLs: [],
    retryInterval: 5000,
  };
  readonly listen: TransportConfigListen = {
    tcp: { isEnabled: false, interfaceIP: "[::]", port: 4040 },
    http: { isEnabled: false, interfaceIP: "[::]", port: 80, websocketSync: false },
  };
  readonly global: TransportConfigGlobal = { syncGroup: 0, routingHint: 0 };

  /** Sets all transports between small peers. */
  setAllPeerToPeerEnabled(enabled: boolean): void {
    for (const transport of Object.values(this.peerToPeer)) transport.isEnabled = enabled;
  }

  /** The same: no platform of this SDK has any of them. */
  setAvailablePeerToPeerEnabled(enabled: boolean): void {
    this.setAllPeerToPeerEnabled(enabled);
  }

  get isFrozen(): boolean {
    return Object.isFrozen(this);
  }

  /** Makes it read-only. */
  freeze(): TransportConfig {
    freezeAll(this);
    return this;
  }

  /** A copy that can be changed. */
  copy(): TransportConfig {
    const copy = new TransportConfig();
    for (const part of ["peerToPeer", "connect", "listen", "global"] as const) {
      Object.assign(copy[part], structuredClone(this[part]));
    }
    return copy;
  }

  static areListenTCPsEqual(
    left: TransportConfigListenTCP,
    right: TransportConfigListenTCP,
  ): boolean {
    return areEqual(left, right);
  }

  static areListenHTTPsEqual(
    left: TransportConfigListenHTTP,
    right: TransportConfigListenHTTP,
  ): boolean {
    return areEqual(left, right);
  }
}

function freezeAll(value: object): void {
  Object.freeze(value);
  for (const part of Object.values(value)) {
    if (typeof part === "object" && part !== null) freezeAll(part);
  }
}

function areEqual(left: object, right: object): boolean {
  const names = new Set([...Object.keys(left), ...Object.keys(right)]);
  return [...names].every((name) => Reflect.get(left, name) === Reflect.get(right, name));
}

/** Says once what a config asks for that there is not. `serverUrl` is undefined without a server. */
export function warnOfAbsent(config: TransportConfig, serverUrl: string | undefined): void {
  const { peerToPeer, connect, listen, global } = config;
  const isPeerToPeer = Object.values(peerToPeer).some(({ isEnabled }) => isEnabled);
  const known = new Set([serverUrl === undefined ? "" : hostOf(serverUrl)]);
  const others = connect.websocketURLs.filter((url) => !known.has(hostOf(url)));
  const absent: readonly (readonly [boolean, string])[] = [
    [isPeerToPeer, "peerToPeer: small peers do not connect to each other, only to the server"],
    [connect.tcpServers.length > 0, "connect.tcpServers: the one transport is the WebSocket"],
    [others.length > 0, `connect.websocketURLs: the server is ${serverUrl ?? "absent"}`],
    [listen.tcp.isEnabled || listen.http.isEnabled, "listen: a small peer does not listen"],
    [global.syncGroup !== 0, "global.syncGroup: permissions decide who syncs what"],
    [global.routingHint !== 0, "global.routingHint: there is one way, to the server"],
  ];
  for (const [isAsked, what] of absent) {
    if (isAsked) Logger.warnOnce(`the transport config has no effect for ${what}`);
  }
}

function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : url;
}
