/**
 * Descriptions of plans for people, on every platform: EXPLAIN, PROFILE and ADVISE. A host makes its
 * `Platform.explainer` of it.
 */

import type { PlanExplainer } from "../run/plan-explainer.ts";
import { Profile } from "../run/profile.ts";
import { advise } from "./advice.ts";
import { adviceRow } from "./advice-row.ts";
import { explainPlan } from "./explain.ts";
import { profileRow } from "./profile-row.ts";
import { provision } from "./provision.ts";

export const PLAN_EXPLAINER: PlanExplainer = {
  explain: explainPlan,
  advise,
  adviceRow,
  provision,
  newProfile: (elapsed) => new Profile(elapsed),
  profileRow,
};
