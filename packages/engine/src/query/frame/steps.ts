/**
 * Steps: the engine's type for work that can pause, exported again for the query folders.
 */

export { finish, type Steps } from "../../steps.ts";
