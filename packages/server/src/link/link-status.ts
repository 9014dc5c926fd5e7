/**
 * Link status: the links of a replication as the management API shows them (M34).
 */

import type { ValueObject } from "@bigpeer/protocol";
import type { Replication } from "../registry/replications.ts";
import { type LinkReport, showReport } from "./link-report.ts";

/** Reports on the links of a replication. */
export interface LinkReports {
  reports(replication: Replication): readonly LinkReport[];
  /** Attachments of an app whose content is not here; undefined if the app was never linked. */
  missingContents(appId: string): Promise<number | undefined>;
}

/** Without links, those of a server that has none. */
export async function linkStatus(
  replication: Replication,
  links?: LinkReports,
): Promise<ValueObject> {
  const { name, appId } = replication;
  const missingAttachments = (await links?.missingContents(appId)) ?? null;
  const reports = links?.reports(replication) ?? [];
  return { name, missingAttachments, links: reports.map(showReport) };
}
