import type { ConfigIssue } from '../faults/config-issue.ts';
import type { Config } from '../schema.ts';

/** Reports a cluster without a server, because the embedded engine is alone. */
export function clusterIssues({ store }: Config): ConfigIssue[] {
  return store.cluster !== undefined && store.url === undefined
    ? [
        {
          path: ['store', 'cluster'],
          message:
            'the embedded engine is no cluster; set store.url to one of the servers, or remove store.cluster',
        },
      ]
    : [];
}
