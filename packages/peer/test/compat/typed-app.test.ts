/**
 * An app of our own that makes the calls of the public quick starts, in strict TypeScript: it compiles
 * unchanged against `@bigpeer/peer/compat`, and it runs.
 */

import { expect, onTestFinished, test } from "vitest";
import { temporaryFolder } from "../../../node/test/support/temporary-folder.ts";
import { openTasks } from "../support/compat-tasks.ts";
import { startRealServer } from "../support/real-server.ts";
import { until } from "../support/turns.ts";

test("an app with the calls of the quick starts runs on a server, on two devices", async () => {
  const { running, content } = await startRealServer();
  const open = async () => {
    const app = await openTasks({
      databaseId: content.appId,
      token: content.developmentToken ?? "",
      serverUrl: running.url,
      persistenceDirectory: temporaryFolder(),
    });
    onTestFinished(() => app.close());
    return app;
  };
  const [phone, till] = [await open(), await open()];
  await phone.createTask("Tea");
  await until(() => till.tasks.length === 1);
  const [task] = till.tasks;
  if (task === undefined) throw new Error("expected a task");
  expect(task).toMatchObject({ title: "Tea", done: false, deleted: false });
  await till.toggleTask(task);
  const { _id: id } = task;
  await till.editTask(id, "Green tea");
  await until(() => phone.tasks.some(({ done, title }) => done && title === "Green tea"));
  phone.toggleSync();
  await phone.deleteTask(task);
  await until(() => phone.tasks.length === 0);
  expect(till.tasks).toHaveLength(1);
  phone.toggleSync();
  await until(() => till.tasks.length === 0);
});
