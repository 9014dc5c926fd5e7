/** Types of markdown-links.mjs, for its test. */

export interface Link {
  readonly target: string;
  readonly start: number;
  readonly end: number;
  readonly targetStart: number;
  readonly targetEnd: number;
}

export interface Heading {
  readonly level: number;
  readonly text: string;
  readonly anchor: string;
}

export function findLinks(markdown: string): Link[];
export function findHeadings(markdown: string): Heading[];
export function anchorOf(heading: string): string;
