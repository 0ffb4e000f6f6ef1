import type { Caller, RequestAccess, Sender } from './access/request-access.ts';
import type { RequestSite } from './access/request-site.ts';
import type { RequestRate } from './access/request-rate.ts';
import type { TenantStore } from './tenant-store.ts';

/** Values that the middleware sets for handlers. */
export interface ApiEnv {
  Variables: {
    access: RequestAccess;
    site: RequestSite;
    rate: RequestRate;
    /** Returns the store that shows only the tenant of a caller. Throws `AppError` for a process that has none. */
    findStore: (caller: Caller) => TenantStore;
    sender: Sender;
    caller: Caller;
    /** Called at the time limit of the request. Returns a sentence for the sender about the work that stops or goes on. */
    afterLimit?: () => string;
  };
}
