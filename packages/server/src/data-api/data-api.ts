/**
 * Data API: creates all endpoints below `/api` that data keys open, with the parts that they share.
 */

import type { OpenApp } from "../apps/open-app.ts";
import type { Config } from "../config/config.ts";
import type { Answer } from "../http/answer.ts";
import type { Endpoint } from "../http/router.ts";
import type { ChangeStreamTotals } from "../limits/change-stream-totals.ts";
import type { ContentTraffic } from "../observability/content-metrics.ts";
import { describeError, type Log } from "../observability/log.ts";
import type { RemoteExecution } from "../sync/remote-execution.ts";
import { type AttachmentHost, attachmentEndpoints } from "./attachment-endpoints.ts";
import { ChangeStreams } from "./change-streams.ts";
import { dataEndpoints } from "./data-endpoints.ts";
import { DataGate, type DataGateOptions, type PassedCall } from "./data-gate.ts";
import { type DeviceHost, deviceEndpoints } from "./device-endpoints.ts";
import { exportEndpoint } from "./export.ts";

export interface DataApiOptions {
  readonly config: Pick<
    Config,
    "attachmentSizeMax" | "cluster" | "dataDir" | "publicUrl" | "transactionWaitMs"
  >;
  readonly source: DataGateOptions<OpenApp>["source"];
  readonly auth: DataGateOptions<OpenApp>["auth"];
  /** See DataGateOptions. */
  readonly findCaller?: DataGateOptions<OpenApp>["findCaller"];
  readonly remote: RemoteExecution;
  readonly syncOf: DeviceHost["syncOf"];
  /** Passes a call on to the node that evaluates its app. */
  readonly passOn: (call: PassedCall) => Promise<Answer>;
  readonly findContent: NonNullable<AttachmentHost<OpenApp>["find"]>;
  readonly isClosing: () => boolean;
  readonly traffic: ContentTraffic;
  readonly elapsed: () => number;
  /** See ChangeStreamsOptions. */
  readonly changeTotals: ChangeStreamTotals;
  readonly log: Log;
  readonly onRefused: (bound: string) => void;
}

export interface DataApi {
  readonly gate: DataGate<OpenApp>;
  readonly endpoints: readonly Endpoint[];
  readonly changes: ChangeStreams<OpenApp>;
}

export function createDataApi(options: DataApiOptions): DataApi {
  const { config, source, auth, findCaller, remote, syncOf, passOn } = options;
  const { elapsed, changeTotals: totals, log, onRefused } = options;
  const { attachmentSizeMax: sizeMax, publicUrl, transactionWaitMs } = config;
  const { findContent: find, isClosing, traffic } = options;
  const gate = new DataGate<OpenApp>({
    source,
    auth,
    onRefused,
    ...(findCaller !== undefined && { findCaller }),
    ...(config.cluster !== undefined && { passOn }),
  });
  const changes = new ChangeStreams<OpenApp>({
    gate,
    transactionWaitMs,
    elapsed,
    totals,
    onRefused,
    onFault: (error) => log("error", `a stream of changes failed: ${describeError(error)}`),
  });
  const attachments = { gate, sizeMax, find, isClosing, onRefused, traffic };
  const endpoints = [
    ...dataEndpoints({ gate, transactionWaitMs, publicUrl, remote }),
    ...deviceEndpoints({ gate, syncOf }),
    ...changes.endpoints,
    exportEndpoint({ gate, folder: config.dataDir }),
    ...attachmentEndpoints<OpenApp>(attachments),
  ];
  return { gate, endpoints, changes };
}
