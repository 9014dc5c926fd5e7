/**
 * History and favourites: a list to search, and Enter puts a statement into the editor.
 */
import { useState, type VNode } from "../../kit/preact.ts";
import { Button, IconButton } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { TextField } from "../../ui/field.tsx";
import { Time } from "../../ui/time.tsx";
import { searchItems } from "../../values/search.ts";
import { plural } from "../../values/show-value.ts";
import {
  type Favourite,
  type HistoryEntry,
  type KeptStatement,
  titleOf,
} from "../../values/statement-history.ts";
import { elapsedText } from "../../values/time-text.ts";
import { favourites, forget, forgetHistory, history, removeFavourite } from "./kept-statements.ts";

export interface KeptDialogProps {
  readonly app: string;
  readonly onOpen: (kept: KeptStatement) => void;
  readonly onClose: () => void;
}

export function KeptDialog({ app, onOpen, onClose }: KeptDialogProps): VNode {
  const [search, setSearch] = useState("");
  const ofApp = (kept: KeptStatement): boolean => kept.app === app;
  const ownFavourites = searchItems(
    favourites.value.filter(ofApp),
    ({ name, text }) => `${name} ${text}`,
    search,
  );
  const ownHistory = searchItems(history.value.filter(ofApp), ({ text }) => text, search);
  const isNothing = ownFavourites.length + ownHistory.length === 0;
  return (
    <Dialog
      title="History and favourites"
      size="large"
      onClose={onClose}
      footer={
        <Button isDisabled={ownHistory.length === 0} onClick={() => forgetHistory(app)}>
          Clear the history
        </Button>
      }
    >
      <TextField
        label="Find a statement"
        isLabelHidden
        type="search"
        placeholder="Find a statement"
        value={search}
        onInput={setSearch}
        autofocus
      />
      {isNothing ? <p class="muted">No statement matches, or none has run yet.</p> : null}
      {ownFavourites.length === 0 ? null : (
        <section>
          <h3>Favourites</h3>
          <ul class="kept-list">
            {ownFavourites.map((favourite) => (
              <FavouriteItem key={favourite.name} favourite={favourite} onOpen={onOpen} />
            ))}
          </ul>
        </section>
      )}
      {ownHistory.length === 0 ? null : (
        <section>
          <h3>History</h3>
          <ul class="kept-list">
            {ownHistory.map((entry) => (
              <HistoryItem key={`${entry.text}\n${entry.args}`} entry={entry} onOpen={onOpen} />
            ))}
          </ul>
        </section>
      )}
    </Dialog>
  );
}

interface FavouriteItemProps {
  readonly favourite: Favourite;
  readonly onOpen: (kept: KeptStatement) => void;
}

function FavouriteItem({ favourite, onOpen }: FavouriteItemProps): VNode {
  const { name, text } = favourite;
  return (
    <li class="kept-item">
      <button type="button" class="kept-open" onClick={() => onOpen(favourite)}>
        <span class="kept-name">{name}</span>
        <span class="kept-text code muted">{titleOf(text)}</span>
      </button>
      <IconButton
        label={`Remove ${name}`}
        icon="trash"
        onClick={() => removeFavourite(favourite)}
      />
    </li>
  );
}

interface HistoryItemProps {
  readonly entry: HistoryEntry;
  readonly onOpen: (kept: KeptStatement) => void;
}

function HistoryItem({ entry, onOpen }: HistoryItemProps): VNode {
  const { text, at, ms, rows } = entry;
  return (
    <li class="kept-item">
      <button type="button" class="kept-open" title={text} onClick={() => onOpen(entry)}>
        <span class="kept-text code">{titleOf(text)}</span>
        <span class="kept-facts muted">
          {rows === undefined ? "failed" : plural(rows, "row")} · {elapsedText(ms)} ·{" "}
          <Time at={at} />
        </span>
      </button>
      <IconButton label={`Forget ${titleOf(text)}`} icon="trash" onClick={() => forget(entry)} />
    </li>
  );
}
