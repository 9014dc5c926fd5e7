export declare const USAGE: string;

export function parseOptions(args: readonly string[]): {
  readonly help: boolean;
  readonly json: string | undefined;
  readonly documents: number;
  readonly rounds: number;
  readonly kills: number;
  readonly seed: number;
};
