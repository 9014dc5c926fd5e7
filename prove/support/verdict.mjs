/**
 * Verdict of a proof: prints a line for each check, and returns the code that the process exits with.
 */

/** `checks` are `[what, holds, detail]`; the detail is left out when it is empty. */
export function report(checks) {
  for (const [what, holds, detail] of checks) {
    console.log(`${holds ? "holds" : "FAILS"}: ${what}${detail === "" ? "" : ` (${detail})`}`);
  }
  return checks.every(([, holds]) => holds) ? 0 : 1;
}
