import type { ConfigIssue } from '../faults/config-issue.ts';
import type { Config } from '../schema.ts';

/** Readers that the store cannot have, and names that mean two users. */
export function readerIssues({ store, forward }: Config): ConfigIssue[] {
  const { readers, url, username } = store;
  if (readers.length > 0 && (url !== undefined || forward !== undefined)) {
    return [
      {
        path: ['store', 'readers'],
        message:
          url === undefined
            ? 'a process with forward has no store; remove one of the two'
            : 'is for the embedded engine; on a server, make the users with CREATE USER, as docs/sql.md shows, and remove store.readers',
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
            message: `another user is named ${reader.username} too; give each reader a name of its own`,
          },
        ],
  );
}
