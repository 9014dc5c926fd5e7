/**
 * Upload shares: how many uploads run at once, of the server, of one app and of one credential
 * (H36). Both forms of uploads share them.
 */

import type { Refusal } from "../http/refusal.ts";
import { unavailable } from "../http/refusal.ts";
import { UPLOADS_MAX, UPLOADS_PER_APP_MAX, UPLOADS_PER_CREDENTIAL_MAX } from "../limits/limits.ts";
import { Shares } from "../limits/shares.ts";

export class UploadShares {
  readonly #ofApps = new Shares({ max: UPLOADS_MAX, perOwnerMax: UPLOADS_PER_APP_MAX });
  readonly #ofCredentials = new Shares({
    max: UPLOADS_MAX,
    perOwnerMax: UPLOADS_PER_CREDENTIAL_MAX,
  });
  readonly #onRefused: (bound: string) => void;

  /** `onRefused` is called for each upload that is refused, with the name of the limit. */
  constructor(onRefused: (bound: string) => void = () => {}) {
    this.#onRefused = onRefused;
  }

  /** Runs an upload of a credential of an app. Rejects with a Refusal, 503, if there are too many. */
  async run<T>(appId: string, owner: string, upload: () => Promise<T>): Promise<T> {
    if (!this.#ofCredentials.hasLeft(owner) || !this.#ofApps.take(appId)) throw this.#tooMany();
    this.#ofCredentials.take(owner);
    try {
      return await upload();
    } finally {
      this.#ofApps.give(appId);
      this.#ofCredentials.give(owner);
    }
  }

  #tooMany(): Refusal {
    this.#onRefused("uploads");
    return unavailable("the server, this app or this credential has too many uploads under way", 1);
  }
}
