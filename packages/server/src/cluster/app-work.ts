/**
 * App work: what one node does for an app, on behalf of all nodes of its cluster. It runs here if
 * this node evaluates the app, and by a call to the node that does otherwise.
 */

import type { Value, ValueObject } from "@bigpeer/protocol";
import type { OpenApp } from "../apps/open-app.ts";
import type { Deliveries } from "../delivery/deliveries.ts";
import type { DeliveryCommand } from "../delivery/delivery-commands.ts";
import type { ContentOutcome } from "../link/app-contents.ts";
import { linkStatus } from "../link/link-status.ts";
import type { Replicator } from "../link/replicator.ts";
import type { Replication } from "../registry/replications.ts";
import type { EvaluatorCalls } from "./evaluator-calls.ts";

export interface AppWorkHost {
  readonly links: Replicator;
  readonly deliveries: Deliveries;
  /** Undefined for a server that is alone. */
  readonly calls: () => EvaluatorCalls | undefined;
}

export class AppWork {
  readonly #host: AppWorkHost;

  constructor(host: AppWorkHost) {
    this.#host = host;
  }

  async linkStatus(replication: Replication): Promise<Value> {
    const { links, calls } = this.#host;
    const { appId, name } = replication;
    const elsewhere = links.isElsewhere(appId) ? calls() : undefined;
    return elsewhere?.linkStatus(appId, name) ?? linkStatus(replication, links);
  }

  findContent(app: OpenApp, id: string): Promise<ContentOutcome> {
    const { links, calls } = this.#host;
    const elsewhere = links.isElsewhere(app.id) ? calls() : undefined;
    return elsewhere?.findContent(app.id, id) ?? links.findContent(app, id);
  }

  /** Undefined when there is no such dead letter. */
  async runDelivery(command: DeliveryCommand): Promise<ValueObject | undefined> {
    const { deliveries } = this.#host;
    const calls = this.#host.calls();
    if (calls === undefined || !(await deliveries.isElsewhere(command.appId))) {
      return deliveries.run(command);
    }
    return calls.delivery(command);
  }
}
