import { type AccessToken, createAccessCheck } from '../../src/config/access.ts';
import type { Authenticate } from './receiver.ts';

/** Lets in whoever may send, by the scope `ingest`; everybody, as tenant '', when there are no tokens. */
export function bearerTokens(tokens: readonly AccessToken[]): Authenticate {
  const check = createAccessCheck(tokens);
  return (headers) => {
    const access = check(headers.authorization, 'ingest');
    return 'status' in access ? access : { tenant: access.tenant ?? '' };
  };
}
