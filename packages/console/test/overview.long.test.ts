/**
 * The page Overview in Chromium: what the server has, and its charts, which are tables as well.
 */
import { expect, test } from "vitest";
import { consoles, hasBrowser } from "./support/console-page.ts";

const openConsole = consoles();

test.runIf(hasBrowser)(
  "the overview has the documents, the apps and the charts of the last hour",
  async () => {
    const shown = await openConsole();
    await shown.sees("main h1");
    await shown.atServer("INSERT INTO t DOCUMENTS (:all)", { all: [{ _id: 1 }, { _id: 2 }] });
    await shown.open("/");
    await shown.until(
      `[...document.querySelectorAll(".tile")].find((tile) => tile.innerText.startsWith("Documents"))
        ?.querySelector("dd").innerText`,
      "2",
    );
    await shown.until(`document.querySelectorAll(".plot canvas").length`, 6);
    expect(await shown.texts(".table tbody tr td:first-child")).toEqual(["default"]);
    const labels = await shown.page.evaluate(
      `[...document.querySelectorAll("[role=img]")].map((plot) => plot.getAttribute("aria-label"))`,
    );
    expect(labels).toContainEqual(expect.stringMatching(/^Peers of the last hour, at most \d+$/));
    await shown.click("button", "Show as tables");
    await shown.until(`document.querySelectorAll(".plot").length`, 0);
    await shown.until(`document.querySelectorAll(".chart table tbody tr").length >= 6`);
    await shown.page.reload();
    await shown.until(`document.querySelectorAll(".chart table tbody tr").length >= 6`);
    expect(await shown.texts(".chart [aria-label='Sync lag'] th")).toEqual([
      "Time",
      "peers",
      "links",
    ]);
    await shown.until(
      `[...document.querySelectorAll(".tile dt")].some((each) => each.innerText === "Link lag")`,
    );
    await shown.click("link", "default");
    await shown.until("location.pathname", "/data");
  },
);
