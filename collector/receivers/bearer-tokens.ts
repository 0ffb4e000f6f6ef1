import { type AccessToken, createAccessCheck } from '../../src/config/access.ts';
import type { Authenticate } from './receiver.ts';

/**
 * Creates a check of senders by their tokens with the scope `ingest`. Without tokens every sender may send, with the tenant
 * ''.
 */
export function bearerTokens(tokens: readonly AccessToken[]): Authenticate {
  const check = createAccessCheck(tokens);
  return (headers) => {
    const access = check(headers.authorization, 'ingest');
    return 'status' in access ? access : { tenant: access.tenant ?? '' };
  };
}
