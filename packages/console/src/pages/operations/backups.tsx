/**
 * The backups of the server: makes one, and checks that one can be restored.
 */
import { request } from "../../api/request.ts";
import { managed } from "../../api/session.ts";
import { useState, type VNode } from "../../kit/preact.ts";
import { useAction } from "../../kit/use-action.ts";
import { useLoad } from "../../kit/use-load.ts";
import { Button } from "../../ui/button.tsx";
import { Empty } from "../../ui/empty.tsx";
import { ErrorMessage } from "../../ui/error-message.tsx";
import { StateBadge } from "../../ui/state-badge.tsx";
import { Table } from "../../ui/table.tsx";
import { Time } from "../../ui/time.tsx";
import { showToast } from "../../ui/toast.tsx";
import { sizeText } from "../../values/show-value.ts";

interface Backup {
  readonly name: string;
  readonly createdAt: string;
  readonly bytes: number;
  readonly verifiedAt: string;
}

interface BackupList {
  readonly folder: string;
  readonly isScheduled: boolean;
  readonly running: { readonly startedAt: string } | null;
  readonly data: readonly Backup[];
}

interface Verification {
  readonly isValid: boolean;
  readonly problems: readonly string[];
}

const POLL_MS = 5000;

export function Backups(): VNode {
  const { value, error, reload } = useLoad(
    "backups",
    (signal) => request<BackupList>(managed("/backup"), { signal }),
    { pollMs: POLL_MS },
  );
  const making = useAction();
  const isRunning = making.isRunning || (value !== undefined && value.running !== null);
  const make = async (): Promise<void> => {
    const backup = await request<Backup>(managed("/backup"), { method: "POST" });
    showToast({ text: `The backup ${backup.name} is made: ${sizeText(backup.bytes)}.` });
    await reload();
  };
  return (
    <>
      <div class="toolbar">
        <Button
          kind="primary"
          icon="plus"
          isDisabled={isRunning}
          onClick={() => void making.run(make)}
        >
          Make a backup
        </Button>
        <span role="status">
          {isRunning ? <StateBadge kind="busy">A backup is being made</StateBadge> : null}
        </span>
        <span class="grow" />
        {value === undefined ? null : (
          <span class="muted">
            in <code>{value.folder}</code>, {value.isScheduled ? "on a schedule" : "no schedule"}
          </span>
        )}
      </div>
      <ErrorMessage error={error} onRetry={() => void reload()} />
      <ErrorMessage error={making.error} />
      {value === undefined ? null : <BackupTable backups={value.data} onVerified={reload} />}
    </>
  );
}

interface BackupTableProps {
  readonly backups: readonly Backup[];
  readonly onVerified: () => Promise<void>;
}

function BackupTable({ backups, onVerified }: BackupTableProps): VNode {
  const [checked, setChecked] = useState<ReadonlyMap<string, Verification>>(new Map());
  const [running, setRunning] = useState<string>();
  const action = useAction();
  const verify = (name: string): void => {
    setRunning(name);
    void action
      .run(async () => {
        const path = managed(`/backup/${encodeURIComponent(name)}/verify`);
        const result = await request<Verification>(path, { method: "POST" });
        setChecked((all) => new Map(all).set(name, result));
        await onVerified();
      })
      .then(() => setRunning(undefined));
  };
  return (
    <>
      <ErrorMessage error={action.error} />
      <Table
        label="Backups"
        rows={backups}
        keyOf={({ name }) => name}
        empty={
          <Empty title="There is no backup yet.">
            <p>
              Make one, or let the server make them on a schedule: <code>--backup-every 6h</code>
            </p>
          </Empty>
        }
        columns={[
          { title: "Backup", cell: ({ name }) => <code>{name}</code> },
          { title: "Made", cell: ({ createdAt }) => <Time at={createdAt} /> },
          { title: "Size", isNumber: true, cell: ({ bytes }) => sizeText(bytes) },
          {
            title: "Verified",
            cell: (backup) => (
              <Verified
                backup={backup}
                result={checked.get(backup.name)}
                isRunning={running === backup.name}
              />
            ),
          },
          {
            title: "Actions",
            isTitleHidden: true,
            cell: ({ name }) => (
              <span class="row-actions">
                <Button isDisabled={action.isRunning} onClick={() => verify(name)}>
                  Verify
                </Button>
              </span>
            ),
          },
        ]}
      />
    </>
  );
}

interface VerifiedProps {
  readonly backup: Backup;
  readonly result: Verification | undefined;
  readonly isRunning: boolean;
}

function Verified({ backup, result, isRunning }: VerifiedProps): VNode {
  if (isRunning) return <StateBadge kind="busy">reading every record…</StateBadge>;
  if (result?.isValid === false) {
    return <StateBadge kind="err">{result.problems.join("; ")}</StateBadge>;
  }
  if (result?.isValid === true) return <StateBadge kind="ok">whole</StateBadge>;
  return (
    <StateBadge kind="ok">
      <Time at={backup.verifiedAt} />
    </StateBadge>
  );
}
