/**
 * What ADVISE suggests: each index with its reason and a button that creates it, and then how far its
 * build is.
 */
import { execute, rowsOf } from "../../api/execute.ts";
import { ApiError } from "../../api/request.ts";
import { useState, type VNode } from "../../kit/preact.ts";
import { useLoad } from "../../kit/use-load.ts";
import { Button } from "../../ui/button.tsx";
import { Empty } from "../../ui/empty.tsx";
import { ErrorMessage } from "../../ui/error-message.tsx";
import { Icon } from "../../ui/icon.tsx";
import type { Advice, SuggestedIndex } from "../../values/statement-result.ts";
import type { StatementPrefix } from "../../values/statement-text.ts";

export interface AdviceViewProps {
  readonly app: string;
  readonly advice: Advice;
  readonly onStart: (prefix?: StatementPrefix) => void;
}

export function AdviceView({ app, advice, onStart }: AdviceViewProps): VNode {
  const { existing, suggested, outcome } = advice;
  return (
    <div class="advice">
      {outcome === undefined ? null : <Empty title={sentence(outcome)} />}
      {suggested.map((index) => (
        <Suggestion key={index.statement} app={app} index={index} onStart={onStart} />
      ))}
      {existing.length === 0 ? null : (
        <section class="advice-used">
          <h3>Indexes in use</h3>
          <ul>
            {existing.map(({ statement }) => (
              <li key={statement} class="code">
                {statement}
              </li>
            ))}
          </ul>
        </section>
      )}
    </div>
  );
}

function sentence(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}

interface SuggestionProps {
  readonly app: string;
  readonly index: SuggestedIndex;
  readonly onStart: (prefix?: StatementPrefix) => void;
}

function Suggestion({ app, index, onStart }: SuggestionProps): VNode {
  const [state, setState] = useState<"suggested" | "creating" | "created">("suggested");
  const [error, setError] = useState<ApiError>();
  const create = async (): Promise<void> => {
    setState("creating");
    setError(undefined);
    try {
      await execute(app, index.statement);
      setState("created");
    } catch (failure) {
      setError(ApiError.from(failure));
      setState("suggested");
    }
  };
  return (
    <article class="suggestion">
      <p class="code suggestion-text">{index.statement}</p>
      <p class="hint">For {index.reason}</p>
      <ErrorMessage error={error} />
      {state === "created" ? (
        <Created app={app} index={index} onStart={onStart} />
      ) : (
        <div class="toolbar">
          <Button
            kind="primary"
            icon="plus"
            isDisabled={state === "creating"}
            onClick={() => void create()}
          >
            Create this index
          </Button>
        </div>
      )}
    </article>
  );
}

/** The name of the index that a statement of ADVISE creates. */
function nameIn(statement: string): string {
  const [, quoted, plain = ""] = /^CREATE INDEX (?:`((?:[^`]|``)+)`|(\w+))/.exec(statement) ?? [];
  return quoted?.replaceAll("``", "`") ?? plain;
}

interface IndexRow {
  readonly state?: string;
  readonly progress?: { readonly done: number; readonly total: number };
}

const BUILD_POLL_MS = 500;

/** A large collection takes a while; the statement uses the index when it is complete. */
function Created({ app, index, onStart }: SuggestionProps): VNode {
  const [isReady, setReady] = useState(false);
  const loaded = useLoad(
    index.statement,
    async (signal) => {
      const args = { id: `${index.collection}.${nameIn(index.statement)}` };
      const statement = "SELECT * FROM system:indexes WHERE _id = :id";
      const [row] = await rowsOf<IndexRow>(app, statement, { args, signal });
      setReady(row !== undefined && row.state === undefined);
      return row;
    },
    isReady ? {} : { pollMs: BUILD_POLL_MS },
  );
  const progress = loaded.value?.progress;
  const percent = progress && Math.floor((100 * progress.done) / Math.max(1, progress.total));
  return (
    <div class="toolbar" role="status">
      {isReady ? (
        <>
          <span class="created">
            <Icon name="check" /> The index is ready
          </span>
          <Button kind="primary" onClick={() => onStart("PROFILE")}>
            Profile again
          </Button>
        </>
      ) : (
        <span class="muted">
          The index is being built{percent === undefined ? "" : `, ${percent} %`}
        </span>
      )}
      <ErrorMessage error={loaded.error} />
    </div>
  );
}
