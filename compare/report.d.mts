export interface Found {
  readonly rule: string;
  readonly text: string;
  readonly oursText: string;
  readonly referenceText: string;
}

export declare class Report {
  readonly statements: number;
  readonly agreement: number;
  readonly listedCount: number;
  agree(): void;
  stop(): void;
  differ(found: Found, difference: { readonly name: string } | undefined): void;
  text(options?: { readonly examples?: number }): string;
}
