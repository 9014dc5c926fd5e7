/**
 * The changes that can be made to an app by the management API, each with what the audit log must
 * say of it and what the app must have then.
 */

/** What an app has. A number is that of the change that made it so. */
export interface ManagedModel {
  readonly isThere: boolean;
  readonly isStrict: boolean;
  /** The session length of the provider `guests`. */
  readonly guests: number | undefined;
  readonly hasHook: boolean;
  readonly key: ManagedKey | undefined;
  readonly replication: number | undefined;
  /** Rotations of the session key since a guest logged in. */
  readonly rotations: number;
}

export interface ManagedKey {
  readonly number: number;
  /** Undefined when it was told to nobody. */
  readonly text: string | undefined;
}

export interface ManagedChange {
  readonly method: string;
  readonly path: string;
  readonly body?: object;
  /** Action and target in the audit log. */
  readonly audited: string;
  /** By the answer, where there was one. */
  readonly after: (answer: unknown) => ManagedModel;
}

export interface ChangeContext {
  readonly name: string;
  /** Of the last app with the name. */
  readonly appId: string;
  readonly model: ManagedModel;
  /** Of this change. */
  readonly number: number;
}

export type ChangeName = keyof typeof CHANGES;

export const NO_APP: ManagedModel = {
  isThere: false,
  isStrict: false,
  guests: undefined,
  hasHook: false,
  key: undefined,
  replication: undefined,
  rotations: 0,
};

const ALL = { read: { everything: true }, write: { everything: true } };

export function guestsConfig(number: number): object {
  return {
    type: "anonymous",
    sharedToken: "open sesame, please",
    sessionLength: 1_000 + number,
    permission: ALL,
  };
}

export function replicationContent(number: number): object {
  return { connections: [`host-${number}:1`], queriesByCollection: { cars: [`n == ${number}`] } };
}

const HOOK = { type: "tokenWebhook", webhookUrl: "https://shop.example.com/login" };

const APP_CHANGES = {
  createApp: ({ name }: ChangeContext): ManagedChange => ({
    method: "POST",
    path: "/app",
    body: { name },
    audited: `app.create app/${name}`,
    after: () => ({ ...NO_APP, isThere: true }),
  }),
  deleteApp: ({ name, model }: ChangeContext): ManagedChange => ({
    method: "DELETE",
    path: `/app/${name}`,
    audited: `app.delete app/${name}`,
    after: () => ({ ...model, isThere: false, key: undefined, replication: undefined }),
  }),
  restoreApp: ({ name, appId, model }: ChangeContext): ManagedChange => ({
    method: "POST",
    path: `/deletedApp/${appId}/restore`,
    audited: `app.restore app/${name}`,
    after: () => ({ ...model, isThere: true }),
  }),
  changeSettings: ({ name, model }: ChangeContext): ManagedChange => ({
    method: "PATCH",
    path: `/app/${name}/settings`,
    body: { strictV4: !model.isStrict },
    audited: `app.setSettings app/${name}`,
    after: () => ({ ...model, isStrict: !model.isStrict }),
  }),
  rotateSession: ({ name, model }: ChangeContext): ManagedChange => ({
    method: "POST",
    path: `/app/${name}/sessionKey/rotate`,
    audited: `app.rotateSessionKey app/${name}`,
    after: () => ({ ...model, rotations: model.rotations + 1 }),
  }),
};

const KEY_CHANGES = {
  createKey: ({ name, model, number }: ChangeContext): ManagedChange => ({
    method: "POST",
    path: `/app/${name}/apiKey`,
    body: { name: "key", permissions: ALL, description: String(number) },
    audited: `apiKey.create app/${name}/apiKey/key`,
    after: (text) => ({ ...model, key: { number, text: text as string | undefined } }),
  }),
  rotateKey: ({ name, model }: ChangeContext): ManagedChange => ({
    method: "POST",
    path: `/app/${name}/apiKey/key/rotate`,
    audited: `apiKey.rotate app/${name}/apiKey/key`,
    after: (text) => ({
      ...model,
      key: { number: model.key?.number ?? 0, text: text as string | undefined },
    }),
  }),
  replaceKey: ({ name, model, number }: ChangeContext): ManagedChange => ({
    method: "PUT",
    path: `/app/${name}/apiKey/key`,
    body: { permissions: ALL, description: String(number) },
    audited: `apiKey.replace app/${name}/apiKey/key`,
    after: () => ({ ...model, key: { number, text: model.key?.text } }),
  }),
  deleteKey: ({ name, model }: ChangeContext): ManagedChange => ({
    method: "DELETE",
    path: `/app/${name}/apiKey/key`,
    audited: `apiKey.delete app/${name}/apiKey/key`,
    after: () => ({ ...model, key: undefined }),
  }),
};

const PROVIDER_CHANGES = {
  createGuests: ({ name, model, number }: ChangeContext): ManagedChange => ({
    method: "POST",
    path: `/app/${name}/provider`,
    body: { name: "guests", config: guestsConfig(number) },
    audited: `provider.create app/${name}/provider/guests`,
    after: () => ({ ...model, guests: number }),
  }),
  replaceGuests: ({ name, model, number }: ChangeContext): ManagedChange => ({
    method: "PUT",
    path: `/app/${name}/provider/guests`,
    body: { config: guestsConfig(number) },
    audited: `provider.replace app/${name}/provider/guests`,
    after: () => ({ ...model, guests: number }),
  }),
  createHook: ({ name, model }: ChangeContext): ManagedChange => ({
    method: "POST",
    path: `/app/${name}/provider`,
    body: { name: "hook", config: HOOK },
    audited: `provider.create app/${name}/provider/hook`,
    after: () => ({ ...model, hasHook: true }),
  }),
  rotateHook: ({ name, model }: ChangeContext): ManagedChange => ({
    method: "POST",
    path: `/app/${name}/provider/hook/webhookSecret`,
    audited: `provider.rotateSecret app/${name}/provider/hook`,
    after: () => model,
  }),
  deleteHook: ({ name, model }: ChangeContext): ManagedChange => ({
    method: "DELETE",
    path: `/app/${name}/provider/hook`,
    audited: `provider.delete app/${name}/provider/hook`,
    after: () => ({ ...model, hasHook: false }),
  }),
};

const REPLICATION_CHANGES = {
  createReplication: ({ name, model, number }: ChangeContext): ManagedChange => ({
    method: "POST",
    path: `/app/${name}/bigPeerReplication`,
    body: { name, ...replicationContent(number) },
    audited: `bigPeerReplication.create app/${name}/bigPeerReplication/${name}`,
    after: () => ({ ...model, replication: number }),
  }),
  changeReplication: ({ name, model, number }: ChangeContext): ManagedChange => ({
    method: "PATCH",
    path: `/app/${name}/bigPeerReplication/${name}`,
    body: replicationContent(number),
    audited: `bigPeerReplication.update app/${name}/bigPeerReplication/${name}`,
    after: () => ({ ...model, replication: number }),
  }),
  deleteReplication: ({ name, model }: ChangeContext): ManagedChange => ({
    method: "DELETE",
    path: `/app/${name}/bigPeerReplication/${name}`,
    audited: `bigPeerReplication.delete app/${name}/bigPeerReplication/${name}`,
    after: () => ({ ...model, replication: undefined }),
  }),
};

export const CHANGES = {
  ...APP_CHANGES,
  ...KEY_CHANGES,
  ...PROVIDER_CHANGES,
  ...REPLICATION_CHANGES,
};

/** Each is possible after those before it; the first one after the last one. */
export const CIRCLE: readonly ChangeName[] = [
  "createApp",
  "createGuests",
  "createKey",
  "changeSettings",
  "createReplication",
  "rotateKey",
  "rotateSession",
  "replaceKey",
  "replaceGuests",
  "createHook",
  "changeReplication",
  "rotateHook",
  "rotateKey",
  "deleteHook",
  "deleteApp",
  "restoreApp",
  "createKey",
  "rotateSession",
  "changeSettings",
  "createReplication",
  "deleteKey",
  "deleteReplication",
  "createKey",
  "deleteApp",
];
