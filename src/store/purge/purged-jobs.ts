import type { PurgeStore } from '../contracts/purge.ts';
import type { Database } from '../database.ts';
import { beginMutation, waitForMutations } from './mutations.ts';

type JobParts = Pick<PurgeStore, 'findCollected' | 'replaceSpec' | 'removeJob'>;

/** Creates the part of a purge that changes jobs. Rows of a job that a later one replaced are changed, too: they may stay for long. */
export function createPurgedJobs(database: Database): JobParts {
  return {
    findCollected: async (jobId, texts) => {
      const rows =
        texts.length === 0
          ? []
          : await database.rows<{ id: string }>(
              `SELECT DISTINCT Id AS id FROM purge_items
               WHERE JobId = {jobId:String} AND Kind IN ('trace', 'session') AND Id IN {texts:Array(String)}`,
              { jobId, texts: [...texts] },
            );
      return new Set(rows.map(({ id }) => id));
    },
    replaceSpec: async (id, spec) => {
      await beginMutation(
        database,
        'jobs',
        `UPDATE Spec = ${literal(JSON.stringify(spec))} ${ofJob('Id', id)}`,
      );
      await waitForMutations(database, ['jobs']);
    },
    removeJob: async (id) => {
      await beginMutation(database, 'jobs', `DELETE ${ofJob('Id', id)}`);
      await beginMutation(database, 'job_events', `DELETE ${ofJob('JobId', id)}`);
      await waitForMutations(database, ['jobs', 'job_events']);
    },
  };
}

function ofJob(column: string, id: string): string {
  return `WHERE ${column} = ${literal(id)}`;
}

/** SQL for a text: a mutation takes no parameters. */
function literal(text: string): string {
  return `base64Decode('${Buffer.from(text).toString('base64')}')`;
}
