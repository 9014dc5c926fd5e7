/**
 * The options with which peers of this app reach their server. The build has them from the
 * environment (connection.mjs).
 *
 * An API key in a page is for a first try on your own machine: everyone who can load the page has it.
 */
const { appId, url, apiKey, developmentToken } = __CONNECTION__;

const credential =
  apiKey === undefined
    ? { login: () => ({ provider: "development", token: developmentToken }) }
    : { token: apiKey };

export const connection = { appId, url, ...credential };
