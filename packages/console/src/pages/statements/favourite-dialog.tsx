/**
 * Keeps the statement of the editor as a favourite, under a name.
 */
import { useState, type VNode } from "../../kit/preact.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { TextField } from "../../ui/field.tsx";
import { showToast } from "../../ui/toast.tsx";
import { KEPT_LENGTH_MAX, titleOf } from "../../values/statement-history.ts";
import { favourites, keepFavourite } from "./kept-statements.ts";
import type { StatementSession } from "./statement-session.ts";

export interface FavouriteDialogProps {
  readonly session: StatementSession;
  readonly onClose: () => void;
}

const NAME_LENGTH_MAX = 60;

export function FavouriteDialog({ session, onClose }: FavouriteDialogProps): VNode {
  const { app } = session;
  const text = session.text.value;
  const [name, setName] = useState(titleOf(text).slice(0, NAME_LENGTH_MAX));
  const isKnown = favourites.value.some((each) => each.app === app && each.name === name.trim());
  const isTooLong = text.length > KEPT_LENGTH_MAX;
  const keep = (): void => {
    keepFavourite({ app, name: name.trim(), text, args: session.args.value });
    showToast({ text: `Saved the favourite ${name.trim()}` });
    onClose();
  };
  return (
    <Dialog
      title="Save as favourite"
      size="small"
      onClose={onClose}
      onSubmit={keep}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button isSubmit kind="primary" isDisabled={name.trim() === "" || isTooLong}>
            {isKnown ? "Replace" : "Save"}
          </Button>
        </>
      }
    >
      <TextField
        label="Name"
        value={name}
        onInput={setName}
        autofocus
        fault={isTooLong ? `expected at most ${KEPT_LENGTH_MAX} characters of text` : undefined}
        {...(isKnown && { hint: "A favourite of this name exists. Saving replaces it." })}
      />
    </Dialog>
  );
}
