export interface TransferOptions {
  readonly files: number;
  readonly sizeMax: number;
  readonly large: number;
  readonly cutMs: number;
  readonly killMs: number;
  readonly seed: number;
}

export interface TransferResult {
  readonly bytes: number;
  readonly sent: number;
  readonly received: number;
  readonly memory: { readonly server: number; readonly sender: number; readonly receiver: number };
  readonly cuts: number;
  readonly kills: number;
  readonly seconds: number;
  readonly failures: readonly string[];
}

export function transfer(
  options: TransferOptions,
  report?: (line: string) => void,
): Promise<TransferResult>;
