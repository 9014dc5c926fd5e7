/**
 * The theme of the site: the default one with its own fonts and search, with diagrams, with the
 * first command on the home page, and with a link to the plain Markdown of each page.
 */
import { useData, withBase } from "vitepress";
import DefaultTheme from "vitepress/theme";
import { h } from "vue";
import { MermaidDiagram } from "./mermaid-diagram.mjs";
import "./style.css";

export default {
  extends: DefaultTheme,
  Layout: () =>
    h(DefaultTheme.Layout, null, {
      "home-hero-actions-after": () => h(FirstCommand),
      "doc-footer-before": () => h(PlainLink),
    }),
  enhanceApp: ({ app }) => {
    app.component("MermaidDiagram", MermaidDiagram);
  },
};

function FirstCommand() {
  return h("p", { class: "first-command" }, [
    h("code", "npm start"),
    " in a clone of the repository",
  ]);
}

function PlainLink() {
  const href = withBase(`/${useData().page.value.relativePath}`);
  return h(
    "p",
    { class: "plain-link" },
    h("a", { href, target: "_self" }, "This page as Markdown"),
  );
}
