import type { Caller } from '../../api/api-env.ts';
import { NotFoundError } from '../../domain/errors.ts';

/**
 * Returns the tenant of a write: the one that the request names, else that of the token; undefined for none of both. Throws a
 * `NotFoundError` for a tenant that the token does not see.
 */
export function chooseTenant(
  { tenant }: Pick<Caller, 'tenant'>,
  named: string | undefined,
): string | undefined {
  if (tenant !== undefined && named !== undefined && named !== tenant) {
    throw new NotFoundError(`nothing of the tenant ${named} is stored`);
  }
  return named ?? tenant;
}
