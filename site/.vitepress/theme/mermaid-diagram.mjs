/**
 * Diagram: draws the text of a Mermaid diagram in the colours of the current theme.
 *
 * Mermaid is large, so a page loads it only if it has a diagram, from the site itself. Before that,
 * without scripts, and when the text has a fault, the page shows the text.
 */
import { useData } from "vitepress";
import { defineComponent, h, onMounted, ref, watch } from "vue";

/** Colours of the site, see style.css; Mermaid computes with them, so they cannot be variables. */
const LIGHT = {
  darkMode: false,
  background: "#ffffff",
  primaryColor: "#e6f0f6",
  primaryTextColor: "#1f2933",
  primaryBorderColor: "#2f6f9f",
  secondaryColor: "#e3f1f0",
  tertiaryColor: "#f6f6f7",
  lineColor: "#52606d",
  edgeLabelBackground: "#ffffff",
  noteBkgColor: "#f6f3e6",
  noteTextColor: "#1f2933",
  noteBorderColor: "#c9bd8a",
};
const DARK = {
  darkMode: true,
  background: "#1b1b1f",
  primaryColor: "#1f3a4d",
  primaryTextColor: "#e4e7eb",
  primaryBorderColor: "#7fb8de",
  secondaryColor: "#1e3b39",
  tertiaryColor: "#202127",
  lineColor: "#9aa5b1",
  edgeLabelBackground: "#1b1b1f",
  noteBkgColor: "#35321f",
  noteTextColor: "#e4e7eb",
  noteBorderColor: "#7d7444",
};

let count = 0;

export const MermaidDiagram = defineComponent({
  props: {
    /** The text, URI-encoded. */
    code: { type: String, required: true },
  },
  setup(props) {
    const { isDark } = useData();
    const text = decodeURIComponent(props.code);
    const id = `diagram-${++count}`;
    const svg = ref("");
    const draw = async () => {
      const wasDark = isDark.value;
      const drawn = await drawDiagram(`${id}-${wasDark ? "dark" : "light"}`, text, wasDark);
      if (wasDark === isDark.value) svg.value = drawn;
    };
    onMounted(() => {
      watch(isDark, draw);
      return draw();
    });
    return () =>
      svg.value === ""
        ? h("div", { class: "diagram" }, h("pre", text))
        : h("div", { class: "diagram", innerHTML: svg.value });
  },
});

async function drawDiagram(id, text, isDark) {
  const { default: mermaid } = await import("mermaid");
  // Mermaid measures texts.
  await document.fonts.ready;
  mermaid.initialize({
    startOnLoad: false,
    securityLevel: "strict",
    theme: "base",
    themeVariables: isDark ? DARK : LIGHT,
    fontFamily: "inherit",
  });
  try {
    return (await mermaid.render(id, text)).svg;
  } catch (error) {
    document.getElementById(`d${id}`)?.remove();
    throw new Error(`failed to draw a diagram: ${error.message}`, { cause: error });
  }
}
