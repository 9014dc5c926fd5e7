/**
 * Settings resource: `…/settings` reads and changes the settings of an app, which select the
 * behaviour that clients of different versions expect (M27).
 */

import type { Value } from "@bigpeer/protocol";
import type { AppSettings } from "../registry/app.ts";
import type { Check } from "../validation/schema.ts";
import type { Handler, Resource } from "./management-endpoint.ts";
import { checkSettings, checkSettingsChange, type SettingsChangeBody } from "./schemas.ts";

export const SETTING_RESOURCES: readonly Resource[] = [
  {
    name: "manage_settings",
    path: "/app/{app}/settings",
    methods: {
      GET: (call) => showSettings(call.registry.apps.named(call.parameter("app")).settings),
      PUT: changeSettings(checkSettings),
      PATCH: changeSettings(checkSettingsChange),
    },
  },
];

function changeSettings(check: Check<SettingsChangeBody>): Handler {
  return async (call) => {
    const change = readSettings(await call.body(check));
    const { apps } = call.registry;
    return showSettings(await apps.setSettings(call.parameter("app"), change, call.author));
  };
}

function showSettings({ isV4Strict, isUnknownEmpty }: AppSettings): Value {
  return { strictV4: isV4Strict, unknownCollectionsAreEmpty: isUnknownEmpty };
}

function readSettings(given: SettingsChangeBody): Partial<AppSettings> {
  const { strictV4, unknownCollectionsAreEmpty } = given;
  return {
    ...(typeof strictV4 === "boolean" && { isV4Strict: strictV4 }),
    ...(typeof unknownCollectionsAreEmpty === "boolean" && {
      isUnknownEmpty: unknownCollectionsAreEmpty,
    }),
  };
}
