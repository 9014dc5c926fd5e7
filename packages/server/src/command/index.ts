/**
 * Entry: the commands that the server runs, as data, for the help and the completion of the whole
 * command line. It loads nothing of the server itself.
 */

export { SETTING_GROUPS } from "../config/settings.ts";
export { VERSION } from "../config/version.ts";
export { COMMANDS, type Command, type Flag, flagsOf } from "./command-line.ts";
