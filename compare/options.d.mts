export interface Options {
  readonly seed: number;
  readonly statements: number;
  readonly examples: number;
  readonly isHelp: boolean;
}

export declare function parseOptions(args: readonly string[]): Options;
export declare const HELP: string;
