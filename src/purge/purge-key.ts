import { hash } from 'node:crypto';
import type { PurgeHashKey, PurgeKind } from '../store/contracts/purge.ts';

/** Secret by which purged ids are remembered: their HMAC tells nothing to a person without it. */
export interface PurgeKey extends PurgeHashKey {
  /** Computes the hash of an id, in hex: the same for both normal forms of Unicode of a user's or a session's id. */
  compute(kind: PurgeKind, tenant: string, id: string): string;
  /** Computes the hash of any other text, in hex. */
  readonly hide: (text: string) => string;
}

/** Sizes of SHA-256: of a block and of a digest, bytes. */
const BLOCK = 64;
const DIGEST = 32;

export function createPurgeKey(secret: string): PurgeKey {
  const short = Buffer.byteLength(secret) > BLOCK ? hash('sha256', secret, 'buffer') : Buffer.from(secret);
  const pad = (value: number) => Buffer.alloc(BLOCK).map((_, index) => (short[index] ?? 0) ^ value);
  const [inner, outer] = [pad(0x36), pad(0x5c)];
  const outerText = Buffer.concat([outer, Buffer.alloc(DIGEST)]);
  /** HMAC-SHA256 of two one-shot hashes: a fifth of the time of `createHmac`, which makes an object for each text. */
  const digest = (text: string) => {
    hash('sha256', Buffer.concat([inner, Buffer.from(text)]), 'buffer').copy(outerText, BLOCK);
    return hash('sha256', outerText, 'hex');
  };
  return {
    keyId: digest('key').slice(0, 16),
    inner: Buffer.from(inner).toString('hex'),
    outer: Buffer.from(outer).toString('hex'),
    hide: (text) => digest(`text:${text}`),
    compute: (kind, tenant, id) => {
      const text = kind === 'user' || kind === 'session' ? id.normalize('NFC') : id;
      return digest(`${kind}:${Buffer.byteLength(tenant)}:${tenant}:${text}`);
    },
  };
}
