/**
 * Styles of the editor, as CodeMirror takes them. They are in its shadow root, and take their colours
 * from the tokens of the page.
 */

type Style = Readonly<Record<string, string>>;

export const EDITOR_STYLES: Record<string, Style> = {
  "&": {
    color: "var(--text)",
    fontSize: "13px",
    minHeight: "120px",
    maxHeight: "45vh",
  },
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "20px", minHeight: "120px" },
  ".cm-content": { padding: "8px 0", caretColor: "var(--text)" },
  ".cm-line": { padding: "0 12px 0 6px" },
  ".cm-gutters": { background: "transparent", border: "0", color: "var(--muted)" },
  ".cm-lineNumbers .cm-gutterElement": { minWidth: "34px", padding: "0 8px 0 0", fontSize: "11px" },
  ".cm-placeholder": { color: "var(--muted)" },
  ".keyword": { color: "var(--info)" },
  ".function": { color: "var(--accent)" },
  ".text": { color: "var(--ok)" },
  ".number": { color: "var(--warn)" },
  ".parameter": { color: "var(--warn)", fontStyle: "italic" },
  ".comment": { color: "var(--muted)", fontStyle: "italic" },
  "&.cm-focused .cm-matchingBracket": {
    background: "var(--raised)",
    outline: "1px solid var(--edge)",
  },
  ".cm-lintRange-error": {
    backgroundImage: "none",
    textDecoration: "underline wavy var(--err)",
    textUnderlineOffset: "3px",
  },
  ".cm-lintPoint-error:after": { borderBottomColor: "var(--err)" },
  ".cm-tooltip": {
    border: "1px solid var(--edge)",
    borderRadius: "var(--radius)",
    background: "var(--bg)",
    color: "var(--text)",
    overflow: "hidden",
  },
  ".cm-tooltip.cm-tooltip-autocomplete > ul": {
    fontFamily: "var(--mono)",
    fontSize: "12.5px",
    maxHeight: "240px",
  },
  ".cm-tooltip.cm-tooltip-autocomplete > ul > li": {
    display: "flex",
    gap: "16px",
    padding: "3px 10px",
    lineHeight: "18px",
  },
  ".cm-tooltip.cm-tooltip-autocomplete > ul > li[aria-selected]": {
    background: "var(--accent)",
    color: "var(--on-accent)",
  },
  ".cm-completionLabel": { flex: "1" },
  ".cm-completionMatchedText": { textDecoration: "none", fontWeight: "700" },
  ".kind": { color: "var(--muted)", fontFamily: "var(--sans)", fontSize: "12px" },
  "li[aria-selected] .kind": { color: "inherit" },
  ".cm-diagnostic": {
    padding: "6px 10px",
    borderLeft: "3px solid var(--err)",
    font: "13px/18px var(--sans)",
    maxWidth: "560px",
  },
  ".cm-panels": { background: "var(--surface)", color: "var(--text)" },
};
