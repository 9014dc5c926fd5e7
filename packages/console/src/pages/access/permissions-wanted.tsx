/**
 * The last question before permissions are saved: whether a query that reaches no document says what
 * its author means.
 */
import { confirmed } from "../../ui/dialog.tsx";
import { isSuspicious, type Permissions, trialText } from "./permission-form.ts";
import { type TrialCaller, tryPermissions } from "./permission-trial.ts";

/** Tries the permissions, and asks if one of the queries reaches no document. */
export async function isWanted(
  app: string,
  permissions: Permissions,
  caller?: TrialCaller,
): Promise<boolean> {
  const { read, write } = await tryPermissions(app, permissions, caller);
  const doubts = [
    ...read.filter(isSuspicious).map((each) => `${each.collection}: ${trialText(each, "visible")}`),
    ...write
      .filter(isSuspicious)
      .map((each) => `${each.collection}: ${trialText(each, "writable")}`),
  ];
  if (doubts.length === 0) return true;
  return confirmed({
    title: "Save these permissions?",
    text: (
      <>
        <p>A query may say something else than you mean:</p>
        <ul>
          {doubts.map((doubt) => (
            <li key={doubt}>{doubt}</li>
          ))}
        </ul>
      </>
    ),
    action: "Save anyway",
  });
}
