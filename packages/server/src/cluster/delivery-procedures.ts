/**
 * Delivery procedures: what other nodes ask of the node that runs the webhooks and sinks of an app.
 */

import type { Deliveries } from "../delivery/deliveries.ts";
import type { DeliveryCommand } from "../delivery/delivery-commands.ts";
import type { Procedure } from "./node-listener.ts";
import { notHere } from "./node-procedures.ts";

/** The deliveries of this node. */
export type NodeDeliveries = Pick<Deliveries, "run" | "isElsewhere">;

/** By their names. */
export function deliveryProcedures(host: () => NodeDeliveries): { [name: string]: Procedure } {
  return {
    delivery: async (value) => {
      const deliveries = host();
      const asked = value as unknown as DeliveryCommand;
      if (await deliveries.isElsewhere(asked.appId)) throw notHere();
      return { answer: (await deliveries.run(asked)) ?? null };
    },
  };
}
