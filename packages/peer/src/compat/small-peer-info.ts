/**
 * Small peer info: what the server records of this device (docs/devices.md).
 */

import type { AnyObject } from "./any-value.ts";
import { DittoError } from "./ditto-error.ts";
import type { Instance } from "./instance.ts";
import { jsonText } from "./json-text.ts";
import { Logger } from "./logger.ts";
import { parsedObject } from "./presence.ts";

const ALWAYS_ON =
  "smallPeerInfo.isEnabled has no effect: the server records each device that connects to it";

const BY_PRESENCE =
  "smallPeerInfo.metadata stays on this device: call presence.setPeerMetadata for what the server records";

export class SmallPeerInfo {
  #metadata: AnyObject = {};
  #isEnabled = true;
  #syncScope = "BigPeerOnly";
  readonly #ditto: Instance;

  constructor(ditto: Instance) {
    this.#ditto = ditto;
  }

  get isEnabled(): boolean {
    return this.#isEnabled;
  }

  /** Kept, without an effect. */
  set isEnabled(newValue: boolean) {
    if (!newValue) Logger.warnOnce(ALWAYS_ON);
    this.#isEnabled = newValue;
  }

  get metadata(): AnyObject {
    return { ...this.#metadata };
  }

  /** Kept on this device. */
  set metadata(metadata: AnyObject) {
    this.#ditto.checkOpen();
    if (typeof metadata !== "object" || metadata === null || Array.isArray(metadata)) {
      throw new DittoError("validation/not-an-object", "expected an object as the metadata");
    }
    Logger.warnOnce(BY_PRESENCE);
    this.#metadata = { ...metadata };
  }

  get metadataJSONString(): string {
    return jsonText(this.#metadata);
  }

  set metadataJSONString(metadata: string) {
    this.metadata = parsedObject(metadata);
  }

  /** Of version 4. Kept, without an effect. */
  get syncScope(): string {
    return this.#syncScope;
  }

  set syncScope(scope: string) {
    this.#syncScope = scope;
  }
}
