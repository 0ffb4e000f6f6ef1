import { sha256Hex } from '../../domain/identity.ts';
import { createAddressPolicy } from '../../config/addresses/private-addresses.ts';
import { createGuardedPost } from '../http/guarded-post.ts';
import type { ChannelDeps } from './alert-channel.ts';

/** Longest time of one attempt. */
const TIMEOUT_MS = 10_000;

/** Its kind and its own name, or a hash of where it leads, which may be a secret. */
export function nameChannel(kind: string, name: string | undefined, target: string): string {
  return `${kind}-${name ?? sha256Hex(target).slice(0, 8)}`;
}

/** A post that reaches only addresses that are allowed; `inside`: private ones are. */
export function createChannelDeps(
  url: string,
  where: { readonly allowed: readonly string[]; readonly inside: boolean },
): ChannelDeps {
  const permits = createAddressPolicy(new URL(url), where);
  return { post: createGuardedPost({ permits, timeoutMs: TIMEOUT_MS }), now: Date.now };
}
