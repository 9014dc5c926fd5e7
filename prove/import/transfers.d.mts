export interface TransferResult {
  readonly documents: number;
  /** Documents in a second. */
  readonly bulkRate: number;
  readonly importRate: number;
  readonly exportRate: number;
  /** The most anonymous memory of an import. */
  readonly memoryMb: number;
  readonly kills: number;
  /** Imports that went on behind what an earlier one had done. */
  readonly resumed: number;
  readonly seconds: number;
  readonly failures: readonly string[];
}

export function transfer(
  options: {
    readonly documents: number;
    readonly rounds: number;
    readonly kills: number;
    readonly seed: number;
  },
  report?: (text: string) => void,
): Promise<TransferResult>;
