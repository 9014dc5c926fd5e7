/**
 * The chooser of the app that the pages are about.
 */
import { apps } from "../api/apps.ts";
import type { VNode } from "../kit/preact.ts";
import { SelectField } from "../ui/field.tsx";
import { chooseApp } from "./current-app.ts";

export function AppChooser({ app }: { readonly app: string | undefined }): VNode {
  const names = (apps.value ?? []).map(({ name }) => name);
  // An app of the address that is not there: the pages say so.
  const all = app === undefined || names.includes(app) ? names : [app, ...names];
  return (
    <SelectField
      label="App"
      isLabelHidden
      value={app ?? ""}
      choices={all.map((name) => ({ value: name, title: name }))}
      onChange={chooseApp}
    />
  );
}
