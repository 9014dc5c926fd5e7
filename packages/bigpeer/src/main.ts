#!/usr/bin/env node
/**
 * The command `bigpeer`: the program of @bigpeer/server under the name that `npx bigpeer` installs.
 * It has no code of its own.
 */

import "@bigpeer/server/main";
