/** Types of tasks-web.mjs, for tests. */

/** The path of the program of Vite, when the packages of the example are installed. */
export function installTasksWeb(): Promise<string>;
