/**
 * What the peer's machine does: for every event and phase the phase after it and what it asks for,
 * "nothing" where neither changes. `open` is a session with a live subscription and nothing to
 * upload; the other tables are for what its uploads wait for, for the statements that it runs, and
 * for what it knows of other peers.
 */

export interface PhaseColumns {
  readonly stopped: string;
  readonly waiting: string;
  readonly connecting: string;
  readonly greeting: string;
  readonly settling: string;
  readonly open: string;
}

export const PHASE_TABLE: { readonly [event: string]: PhaseColumns } = {
  start: {
    stopped: "connecting: dial, wakeAt",
    waiting: "connecting: dial",
    connecting: "nothing",
    greeting: "nothing",
    settling: "nothing",
    open: "nothing",
  },
  stop: {
    stopped: "nothing",
    waiting: "stopped: report disconnected, sleep",
    connecting: "stopped: hangUp, report disconnected, sleep",
    greeting: "stopped: send bye, hangUp, report disconnected, sleep",
    settling: "stopped: send bye, hangUp, report disconnected, sleep",
    open: "stopped: send bye, hangUp, report disconnected, sleep",
  },
  subscribe: {
    stopped: "nothing",
    waiting: "nothing",
    connecting: "nothing",
    greeting: "nothing",
    settling: "nothing",
    open: "open: send subscribe",
  },
  unsubscribe: {
    stopped: "stopped: release",
    waiting: "waiting: release",
    connecting: "connecting: release",
    greeting: "greeting: release",
    settling: "settling: release",
    open: "open: send unsubscribe, release",
  },
  pending: {
    stopped: "nothing",
    waiting: "nothing",
    connecting: "nothing",
    greeting: "nothing",
    settling: "nothing",
    open: "open: sequence",
  },
  token: {
    stopped: "nothing",
    waiting: "nothing",
    connecting: "nothing",
    greeting: "nothing",
    settling: "settling: send token",
    open: "open: send token",
  },
  metadata: {
    stopped: "nothing",
    waiting: "nothing",
    connecting: "nothing",
    greeting: "nothing",
    settling: "settling: send metadata",
    open: "open: send metadata",
  },
  watch: {
    stopped: "nothing",
    waiting: "nothing",
    connecting: "nothing",
    greeting: "nothing",
    settling: "nothing",
    open: "open: send watch",
  },
  unrenewed: {
    stopped: "nothing",
    waiting: "nothing",
    connecting: "nothing",
    greeting: "nothing",
    settling: "nothing",
    open: "nothing",
  },
  answered: {
    stopped: "nothing",
    waiting: "nothing",
    connecting: "nothing",
    greeting: "nothing",
    settling: "nothing",
    open: "nothing",
  },
  opened: {
    stopped: "nothing",
    waiting: "nothing",
    connecting: "greeting: send hello",
    greeting: "nothing",
    settling: "nothing",
    open: "nothing",
  },
  garbled: {
    stopped: "nothing",
    waiting: "nothing",
    connecting: "nothing",
    greeting: "waiting: send bye, hangUp, report disconnected, wakeAt",
    settling: "waiting: send bye, hangUp, report disconnected, wakeAt",
    open: "waiting: send bye, hangUp, report disconnected, wakeAt",
  },
  disconnected: {
    stopped: "nothing",
    waiting: "nothing",
    connecting: "waiting: hangUp, report disconnected, wakeAt",
    greeting: "waiting: hangUp, report disconnected, wakeAt",
    settling: "waiting: hangUp, report disconnected, wakeAt",
    open: "waiting: hangUp, report disconnected, wakeAt",
  },
  failed: {
    stopped: "stopped: report failed",
    waiting: "waiting: report failed",
    connecting: "connecting: report failed",
    greeting: "greeting: report failed",
    settling: "waiting: report failed, send bye, hangUp, report disconnected, wakeAt",
    open: "waiting: report failed, send bye, hangUp, report disconnected, wakeAt",
  },
  welcomed: {
    stopped: "nothing",
    waiting: "nothing",
    connecting: "nothing",
    greeting: "nothing",
    settling: "open: report connected, send subscribe, reoffer",
    open: "nothing",
  },
  applied: {
    stopped: "nothing",
    waiting: "nothing",
    connecting: "nothing",
    greeting: "nothing",
    settling: "nothing",
    open: "open: send want",
  },
  compared: {
    stopped: "nothing",
    waiting: "nothing",
    connecting: "nothing",
    greeting: "nothing",
    settling: "settling: send want",
    open: "open: send want",
  },
  sequenced: {
    stopped: "nothing",
    waiting: "nothing",
    connecting: "nothing",
    greeting: "nothing",
    settling: "nothing",
    open: "nothing",
  },
  reoffered: {
    stopped: "nothing",
    waiting: "nothing",
    connecting: "nothing",
    greeting: "nothing",
    settling: "nothing",
    open: "nothing",
  },
  forked: {
    stopped: "nothing",
    waiting: "nothing",
    connecting: "nothing",
    greeting: "nothing",
    settling: "nothing",
    open: "nothing",
  },
  "tick too early": {
    stopped: "nothing",
    waiting: "waiting: wakeAt",
    connecting: "connecting: wakeAt",
    greeting: "greeting: wakeAt",
    settling: "settling: wakeAt",
    open: "open: wakeAt",
  },
  "tick after 30 s": {
    stopped: "nothing",
    waiting: "connecting: dial, wakeAt",
    connecting: "connecting: wakeAt",
    greeting: "greeting: wakeAt",
    settling: "settling: send ping, wakeAt",
    open: "open: send ping, wakeAt",
  },
  "tick after 60 s": {
    stopped: "nothing",
    waiting: "connecting: dial, wakeAt",
    connecting: "waiting: hangUp, report disconnected, wakeAt",
    greeting: "waiting: hangUp, report disconnected, wakeAt",
    settling: "connecting: hangUp, report disconnected, dial, wakeAt",
    open: "connecting: hangUp, report disconnected, dial, wakeAt",
  },
  "tick after 60 s without reading": {
    stopped: "nothing",
    waiting: "connecting: dial, wakeAt",
    connecting: "waiting: hangUp, report disconnected, wakeAt",
    greeting: "waiting: hangUp, report disconnected, wakeAt",
    settling: "settling: send ping, wakeAt",
    open: "open: send ping, wakeAt",
  },
  "message welcome": {
    stopped: "nothing",
    waiting: "nothing",
    connecting: "nothing",
    greeting: "settling: welcome, wakeAt",
    settling: "waiting: send bye, hangUp, report disconnected, wakeAt",
    open: "waiting: send bye, hangUp, report disconnected, wakeAt",
  },
  "message subscribed": {
    stopped: "nothing",
    waiting: "nothing",
    connecting: "nothing",
    greeting: "waiting: send bye, hangUp, report disconnected, wakeAt",
    settling: "waiting: send bye, hangUp, report disconnected, wakeAt",
    open: "open: behind, begin",
  },
  "message unsubscribed": {
    stopped: "nothing",
    waiting: "nothing",
    connecting: "nothing",
    greeting: "waiting: send bye, hangUp, report disconnected, wakeAt",
    settling: "waiting: send bye, hangUp, report disconnected, wakeAt",
    open: "open: report unsubscribed, behind, deny",
  },
  "message documents": {
    stopped: "nothing",
    waiting: "nothing",
    connecting: "nothing",
    greeting: "waiting: send bye, hangUp, report disconnected, wakeAt",
    settling: "waiting: send bye, hangUp, report disconnected, wakeAt",
    open: "open: apply",
  },
  "message versions": {
    stopped: "nothing",
    waiting: "nothing",
    connecting: "nothing",
    greeting: "waiting: send bye, hangUp, report disconnected, wakeAt",
    settling: "waiting: send bye, hangUp, report disconnected, wakeAt",
    open: "open: compare",
  },
  "message complete": {
    stopped: "nothing",
    waiting: "nothing",
    connecting: "nothing",
    greeting: "waiting: send bye, hangUp, report disconnected, wakeAt",
    settling: "waiting: send bye, hangUp, report disconnected, wakeAt",
    open: "open: apply",
  },
  "message behind": {
    stopped: "nothing",
    waiting: "nothing",
    connecting: "nothing",
    greeting: "waiting: send bye, hangUp, report disconnected, wakeAt",
    settling: "waiting: send bye, hangUp, report disconnected, wakeAt",
    open: "open: behind",
  },
  "message committed": {
    stopped: "nothing",
    waiting: "nothing",
    connecting: "nothing",
    greeting: "waiting: send bye, hangUp, report disconnected, wakeAt",
    settling: "waiting: send bye, hangUp, report disconnected, wakeAt",
    open: "open: apply",
  },
  "message forked": {
    stopped: "nothing",
    waiting: "nothing",
    connecting: "nothing",
    greeting: "waiting: send bye, hangUp, report disconnected, wakeAt",
    settling: "waiting: send bye, hangUp, report disconnected, wakeAt",
    open: "nothing",
  },
  "message site": {
    stopped: "nothing",
    waiting: "nothing",
    connecting: "nothing",
    greeting: "waiting: send bye, hangUp, report disconnected, wakeAt",
    settling: "waiting: send bye, hangUp, report disconnected, wakeAt",
    open: "waiting: hangUp, report disconnected, wakeAt",
  },
  "message rights": {
    stopped: "nothing",
    waiting: "nothing",
    connecting: "nothing",
    greeting: "waiting: send bye, hangUp, report disconnected, wakeAt",
    settling: "settling: rights",
    open: "open: rights",
  },
  "message presence": {
    stopped: "nothing",
    waiting: "nothing",
    connecting: "nothing",
    greeting: "waiting: send bye, hangUp, report disconnected, wakeAt",
    settling: "nothing",
    open: "nothing",
  },
  "message run": {
    stopped: "nothing",
    waiting: "nothing",
    connecting: "nothing",
    greeting: "waiting: send bye, hangUp, report disconnected, wakeAt",
    settling: "settling: run",
    open: "open: run",
  },
  "message cancel": {
    stopped: "nothing",
    waiting: "nothing",
    connecting: "nothing",
    greeting: "waiting: send bye, hangUp, report disconnected, wakeAt",
    settling: "nothing",
    open: "nothing",
  },
  "message ping": {
    stopped: "nothing",
    waiting: "nothing",
    connecting: "nothing",
    greeting: "greeting: send pong",
    settling: "settling: send pong",
    open: "open: send pong, apply",
  },
  "message pong": {
    stopped: "nothing",
    waiting: "nothing",
    connecting: "nothing",
    greeting: "nothing",
    settling: "nothing",
    open: "nothing",
  },
  "message bye": {
    stopped: "nothing",
    waiting: "nothing",
    connecting: "nothing",
    greeting: "waiting: hangUp, report disconnected, wakeAt",
    settling: "waiting: hangUp, report disconnected, wakeAt",
    open: "waiting: hangUp, report disconnected, wakeAt",
  },
};

/** The wait after the event, and what the event did. */
export interface UploadColumns {
  readonly nothing: string;
  readonly sequencing: string;
  readonly site: string;
  readonly reoffering: string;
  readonly forking: string;
}

export const UPLOAD_TABLE: { readonly [event: string]: UploadColumns } = {
  pending: {
    nothing: "sequencing <- open: sequence",
    sequencing: "sequencing <- nothing",
    site: "site <- nothing",
    reoffering: "reoffering <- nothing",
    forking: "forking <- nothing",
  },
  sequenced: {
    nothing: "nothing <- nothing",
    sequencing: "nothing <- open: send upload",
    site: "site <- nothing",
    reoffering: "reoffering <- nothing",
    forking: "forking <- nothing",
  },
  reoffered: {
    nothing: "nothing <- nothing",
    sequencing: "sequencing <- nothing",
    site: "site <- nothing",
    reoffering: "sequencing <- open: sequence",
    forking: "forking <- nothing",
  },
  forked: {
    nothing: "nothing <- nothing",
    sequencing: "sequencing <- nothing",
    site: "site <- nothing",
    reoffering: "reoffering <- nothing",
    forking: "sequencing <- open: sequence",
  },
  "message committed": {
    nothing: "nothing <- open: apply",
    sequencing: "sequencing <- open: apply",
    site: "site <- open: apply",
    reoffering: "reoffering <- open: apply",
    forking: "forking <- open: apply",
  },
  "message forked": {
    nothing: "forking <- open: fork",
    sequencing: "sequencing <- nothing",
    site: "site <- nothing",
    reoffering: "reoffering <- nothing",
    forking: "forking <- nothing",
  },
  "message site": {
    nothing: "waiting <- waiting: hangUp, report disconnected, wakeAt",
    sequencing: "waiting <- waiting: hangUp, report disconnected, wakeAt",
    site: "reoffering <- open: reoffer",
    reoffering: "waiting <- waiting: hangUp, report disconnected, wakeAt",
    forking: "waiting <- waiting: hangUp, report disconnected, wakeAt",
  },
};

/** How many runs there are after the event, and what the event did. */
export interface RunColumns {
  readonly none: string;
  readonly one: string;
  readonly full: string;
}

export const RUN_TABLE: { readonly [event: string]: RunColumns } = {
  "message run": {
    none: "1 <- open: run",
    one: "0 <- waiting: send bye, cancel, hangUp, report disconnected, wakeAt",
    full: "0 <- waiting: send bye, cancel all, hangUp, report disconnected, wakeAt",
  },
  "message run of another number": {
    none: "1 <- open: run",
    one: "2 <- open: run",
    full: "16 <- open: send answer",
  },
  "message cancel": {
    none: "0 <- nothing",
    one: "0 <- open: cancel",
    full: "15 <- open: cancel",
  },
  answered: {
    none: "0 <- nothing",
    one: "1 <- open: send answer",
    full: "16 <- open: send answer",
  },
  "answered to the end": {
    none: "0 <- nothing",
    one: "0 <- open: send answer",
    full: "15 <- open: send answer",
  },
  stop: {
    none: "0 <- stopped: send bye, hangUp, report disconnected, sleep",
    one: "0 <- stopped: cancel, send bye, hangUp, report disconnected, sleep",
    full: "0 <- stopped: cancel all, send bye, hangUp, report disconnected, sleep",
  },
  disconnected: {
    none: "0 <- waiting: hangUp, report disconnected, wakeAt",
    one: "0 <- waiting: cancel, hangUp, report disconnected, wakeAt",
    full: "0 <- waiting: cancel all, hangUp, report disconnected, wakeAt",
  },
  failed: {
    none: "0 <- waiting: report failed, send bye, hangUp, report disconnected, wakeAt",
    one: "0 <- waiting: report failed, send bye, cancel, hangUp, report disconnected, wakeAt",
    full: "0 <- waiting: report failed, send bye, cancel all, hangUp, report disconnected, wakeAt",
  },
};

/** What is known of other peers after the event (how many, and which), and what the event did. */
export interface PresenceColumns {
  readonly unwatched: string;
  readonly asked: string;
  readonly reported: string;
}

export const PRESENCE_TABLE: { readonly [event: string]: PresenceColumns } = {
  "watch on": {
    unwatched: "0:  <- open: send watch",
    asked: "0:  <- nothing",
    reported: "2: 1 <- nothing",
  },
  "watch off": {
    unwatched: "0:  <- nothing",
    asked: "0:  <- open: send watch",
    reported: "0:  <- open: send watch",
  },
  "message presence": {
    unwatched: "0:  <- nothing",
    asked: "0:  <- nothing",
    reported: "3: 2 <- nothing",
  },
  "message presence, whole": {
    unwatched: "0:  <- nothing",
    asked: "3: 2 <- nothing",
    reported: "3: 2 <- nothing",
  },
  stop: {
    unwatched: "offline <- stopped: send bye, hangUp, report disconnected, sleep",
    asked: "offline <- stopped: send bye, hangUp, report disconnected, sleep",
    reported: "offline <- stopped: send bye, hangUp, report disconnected, sleep",
  },
  disconnected: {
    unwatched: "offline <- waiting: hangUp, report disconnected, wakeAt",
    asked: "offline <- waiting: hangUp, report disconnected, wakeAt",
    reported: "offline <- waiting: hangUp, report disconnected, wakeAt",
  },
};
