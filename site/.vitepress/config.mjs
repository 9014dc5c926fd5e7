/**
 * Settings of VitePress for the site. It reads the generated pages, not those of the repository.
 */
import { defineConfig } from "vitepress";
import { bundledLicenses } from "../bundled-licenses.mjs";
import { BASE, generateSite } from "../generate.mjs";
import { anchorOf } from "../markdown-links.mjs";

const { groups, pages } = generateSite();
const byPath = new Map(pages.map((page) => [`${page.path}.md`, page]));

export default defineConfig({
  lang: "en",
  title: "Big Peer",
  description: "An open sync server for offline-first apps",
  base: BASE,
  srcDir: "dist/pages",
  outDir: "dist/site",
  cacheDir: "dist/cache",
  cleanUrls: true,
  vite: {
    plugins: [bundledLicenses()],
    // Mermaid has a large chunk for each kind of diagram; a page loads those that it draws.
    build: { chunkSizeWarningLimit: 1000 },
  },
  // Without it each page has a script in its text that differs from build to build.
  metaChunk: true,
  // Addresses of the reader's own server.
  ignoreDeadLinks: "localhostLinks",
  head: [["link", { rel: "icon", href: `${BASE}big-peer.svg`, type: "image/svg+xml" }]],
  markdown: {
    // The pages are plain Markdown: no HTML, no attributes in braces, no emoji, no templates.
    html: false,
    attrs: { disable: true },
    anchor: { slugify: anchorOf },
    // Arguments and error codes of the examples that tests run.
    languageAlias: { args: "json", error: "log" },
    theme: { light: "github-light", dark: "github-dark" },
    config: (markdown) => {
      markdown.core.ruler.disable("emoji");
      drawDiagrams(markdown);
      showBraces(markdown);
    },
  },
  transformPageData: ({ relativePath }) => {
    const page = byPath.get(relativePath);
    return page && { description: page.about };
  },
  transformHead: ({ page }) => {
    const href = BASE + page;
    return page === "404.md" ? [] : [["link", { rel: "alternate", type: "text/markdown", href }]];
  },
  themeConfig: {
    logo: "/big-peer.svg",
    nav: [
      ...groups
        .filter((group) => group.pages.length > 0)
        .map(({ title, pages: [first] }) => ({
          text: title,
          link: addressOf(first),
          activeMatch: patternOf(title),
        })),
      { text: "API", link: "/api", target: "_self" },
    ],
    sidebar: groups.map(({ title, pages: own }) => ({ text: title, items: sidebarItems(own) })),
    outline: { level: [2, 3], label: "On this page" },
    search: { provider: "local", options: { detailedView: true } },
    docFooter: { prev: "Previous", next: "Next" },
    notFound: {
      title: "Page not found",
      quote: "There is no page at this address. The search finds pages by their words.",
      linkText: "Start page",
    },
  },
});

/** A fence of Mermaid becomes the component that draws it. */
function drawDiagrams(markdown) {
  const { fence } = markdown.renderer.rules;
  markdown.renderer.rules.fence = (tokens, index, ...rest) => {
    const { info, content } = tokens[index];
    if (info.trim() !== "mermaid") return fence(tokens, index, ...rest);
    return `<MermaidDiagram code="${encodeURIComponent(content)}" />\n`;
  };
}

/** Two braces in text are braces, not an expression of a template. */
function showBraces(markdown) {
  const { text } = markdown.renderer.rules;
  markdown.renderer.rules.text = (...args) => text(...args).replaceAll("{{", "&#123;&#123;");
}

/** The pages of a folder are below the page that lists them. */
function sidebarItems(own) {
  return own
    .filter(({ folder, isIndex }) => folder === undefined || isIndex)
    .map((page) => {
      const item = { text: page.title, link: addressOf(page) };
      if (page.folder === undefined) return item;
      const inside = own.filter(({ folder, isIndex }) => folder === page.folder && !isIndex);
      const items = inside.map((each) => ({ text: each.title, link: addressOf(each) }));
      return { ...item, collapsed: true, items };
    });
}

function addressOf({ path }) {
  return `/${path.replace(/(^|\/)index$/, "$1")}`;
}

function patternOf(title) {
  const own = groups.find((group) => group.title === title)?.pages ?? [];
  return `^/(?:${own.map(({ path }) => path.replace(/\/index$/, "/")).join("|")})(?:$|[#?])`;
}
