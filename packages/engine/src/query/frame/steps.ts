/**
 * Steps, for statements: the same as everywhere in the engine.
 */

export { finish, type Steps } from "../../steps.ts";
