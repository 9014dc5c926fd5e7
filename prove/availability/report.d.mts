/** Types of report.mjs, for its test. */

export interface Service {
  readonly times: readonly number[];
  readonly failed: readonly string[];
}

export interface Result {
  readonly name: string;
  readonly credential: string;
  readonly probes: { readonly times: readonly number[]; readonly failed: number };
  readonly neighbour: Record<"writes" | "syncs" | "uploads", Service>;
  /** Share of processor time that the host took away. */
  readonly stolenPart: number;
  readonly turns: { readonly cpuMs: number; readonly wallMs: number };
  readonly maxRssMb: number;
  readonly answers: Record<string, number>;
  readonly isAlive: boolean;
  readonly lost: number;
  /** Why the attack could not run; then all other fields are absent. */
  readonly error?: string;
}

export function faultsOf(result: Result): string[];
export function mustRunAgain(result: Result): boolean;
export function tableHead(): string;
export function tableRow(result: Result): string;
