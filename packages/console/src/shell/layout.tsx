/**
 * The frame of every page: navigation, the chooser of apps, the palette and the sheet of shortcuts.
 */
import { apps, loadApps } from "../api/apps.ts";
import { ApiError } from "../api/request.ts";
import { session, signOut } from "../api/session.ts";
import { type Command, useCommands } from "../kit/command-list.ts";
import { useEffect, useState, type VNode } from "../kit/preact.ts";
import { type Shortcut, useShortcuts } from "../kit/shortcuts.ts";
import { useLoad } from "../kit/use-load.ts";
import { PAGES } from "../pages/page-list.ts";
import { goTo } from "../route/router.ts";
import { Button, IconButton } from "../ui/button.tsx";
import { QuestionDialog } from "../ui/dialog.tsx";
import { Empty } from "../ui/empty.tsx";
import { ErrorMessage } from "../ui/error-message.tsx";
import { showToast, Toasts } from "../ui/toast.tsx";
import { AppChooser } from "./app-chooser.tsx";
import { chooseApp, currentApp, keepAppInRoute } from "./current-app.ts";
import { Navigation } from "./navigation.tsx";
import { PageHost } from "./page-host.tsx";
import { Palette } from "./palette.tsx";
import { ShortcutSheet } from "./shortcut-sheet.tsx";
import { nextTheme, theme } from "./theme.ts";

export function Layout(): VNode {
  const [isMenuOpen, setMenuOpen] = useState(false);
  const [shown, setShown] = useState<"palette" | "shortcuts">();
  const loaded = useLoad("apps", loadApps);
  const app = currentApp();
  useEffect(keepAppInRoute);
  useShortcuts("Everywhere", [
    { keys: "mod+k", title: "Commands", run: () => setShown("palette") },
    { keys: "?", title: "This sheet", run: () => setShown("shortcuts") },
    ...PAGES.map(({ id, title, key }): Shortcut => {
      return { keys: `g ${key}`, title: `Go to ${title}`, run: () => goTo(id) };
    }),
  ]);
  useCommands(commandsOf(() => setShown("shortcuts")));
  const close = (): void => setShown(undefined);
  return (
    <div class={isMenuOpen ? "frame is-menu-open" : "frame"}>
      <a class="skip-link" href="#main">
        Skip to content
      </a>
      <header class="side">
        <div class="side-head">
          <Brand />
          <span class="menu-button">
            <IconButton
              label={isMenuOpen ? "Close the menu" : "Open the menu"}
              icon={isMenuOpen ? "close" : "menu"}
              isExpanded={isMenuOpen}
              onClick={() => setMenuOpen(!isMenuOpen)}
            />
          </span>
        </div>
        <div class="side-body">
          <AppChooser app={app} />
          <Button kind="plain" icon="search" onClick={() => setShown("palette")}>
            <span class="grow">Go to…</span>
            <kbd>Ctrl K</kbd>
          </Button>
          <Navigation app={app} onFollow={() => setMenuOpen(false)} />
          <SideFoot onHelp={() => setShown("shortcuts")} />
        </div>
      </header>
      {app === undefined ? (
        <main id="main" class="page">
          <h1>Big Peer</h1>
          <ErrorMessage error={loaded.error} onRetry={() => void loaded.reload()} />
          {apps.value === undefined ? null : <Empty title="This server has no app." />}
        </main>
      ) : (
        <PageHost app={app} />
      )}
      {shown === "palette" ? <Palette onClose={close} /> : null}
      {shown === "shortcuts" ? <ShortcutSheet onClose={close} /> : null}
      <QuestionDialog />
      <Toasts />
    </div>
  );
}

function Brand(): VNode {
  return (
    <div class="brand">
      <img src="/favicon.svg" alt="" width="20" height="20" />
      <span>Big Peer</span>
      <span class="brand-name">{session.value?.name}</span>
    </div>
  );
}

function SideFoot({ onHelp }: { readonly onHelp: () => void }): VNode {
  return (
    <div class="side-foot">
      <span class="muted grow">{session.value?.version}</span>
      <IconButton label="Shortcuts" icon="help" onClick={onHelp} />
      <IconButton label={`Theme: ${theme.value}`} icon="theme" onClick={nextTheme} />
      <IconButton label="Sign out" icon="exit" onClick={() => void leave()} />
    </div>
  );
}

function commandsOf(showShortcuts: () => void): readonly Command[] {
  return [
    ...PAGES.map(({ id, title }) => ({ kind: "Page", title, run: () => goTo(id) })),
    ...(apps.value ?? []).map(({ name }) => {
      return { kind: "App", title: name, run: () => chooseApp(name) };
    }),
    { kind: "Console", title: "Change the theme", run: nextTheme },
    { kind: "Console", title: "Keyboard shortcuts", run: showShortcuts },
    { kind: "Console", title: "Sign out", run: () => void leave() },
  ];
}

/** Without an answer the session may still be open, and so the page stays. */
async function leave(): Promise<void> {
  try {
    await signOut();
  } catch (error) {
    showToast({ kind: "error", text: `failed to sign out: ${ApiError.from(error).message}` });
  }
}
