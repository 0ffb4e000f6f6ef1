import type { ConfigIssue } from '../faults/config-issue.ts';
import type { Config } from '../schema.ts';

/** Reports readers that the store cannot have, and names that belong to two users. */
export function readerIssues({ store }: Config): ConfigIssue[] {
  const { readers, url, username } = store;
  if (readers.length > 0 && url !== undefined) {
    return [
      {
        path: ['store', 'readers'],
        message:
          'works with the embedded engine only; on a server, create the users with CREATE USER (see docs/sql.md) and remove store.readers',
      },
    ];
  }
  const names = [username, ...readers.map((reader) => reader.username)];
  return readers.flatMap((reader, index) =>
    names.indexOf(reader.username) === index + 1
      ? []
      : [
          {
            path: ['store', 'readers', index, 'username'],
            message: `another user has the name ${reader.username} too; give each reader a different name`,
          },
        ],
  );
}
