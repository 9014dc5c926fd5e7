/**
 * Colours of a statement. The text stays the same, so the cursor of the terminal stays right.
 */

import { isKeyword, type Token, tokensOf } from "@bigpeer/engine/language";
import type { Style } from "../terminal/style.ts";

export function highlight(text: string, style: Style): string {
  let coloured = "";
  for (const token of tokensOf(text)) coloured += colouredToken(token, style);
  return coloured;
}

function colouredToken({ kind, text }: Token, style: Style): string {
  switch (kind) {
    case "comment":
      return style("dim", text);
    case "text":
      return style("green", text);
    case "number":
      return style("yellow", text);
    case "parameter":
      return style("magenta", text);
    case "word":
      return isKeyword(text) ? style("blue", text) : text;
    default:
      return text;
  }
}
