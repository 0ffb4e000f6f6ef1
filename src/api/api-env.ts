import type { RequestAccess, Sender } from './access/request-access.ts';
import type { RequestSite } from './access/request-site.ts';
import type { RequestRate } from './access/request-rate.ts';
import type { ApiPorts } from './ports.ts';

/** Sender of a request, by its token. */
export interface Caller extends Pick<Sender, 'name'> {
  /** The only tenant whose rows the caller may read or change; undefined without tokens, and for a token of no tenant: all tenants. */
  readonly tenant: string | undefined;
}

/** Values that the middleware sets for handlers. */
export interface ApiEnv {
  Variables: {
    access: RequestAccess;
    site: RequestSite;
    rate: RequestRate;
    /** Returns the ports that see only the tenant of a caller. Throws `AppError` for a process that has none. */
    findPorts: (caller: Caller) => ApiPorts;
    sender: Sender;
    caller: Caller;
    /** Called at the time limit of the request. Returns a sentence for the sender about the work that stops or goes on. */
    afterLimit?: () => string;
  };
}
