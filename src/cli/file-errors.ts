import { InvalidInputError } from '../domain/errors.ts';

const ADVICE: Readonly<Record<string, string>> = {
  EACCES: 'permission denied; run the command as a user who may use it, or change its permissions',
  EPERM: 'the system does not allow it; run the command as another user, or change its permissions',
  ENOENT: 'there is no such file or folder; check the path',
  EISDIR: 'this is a folder; name a file',
  ENOTDIR: 'a part of the path is no folder; check the path',
  ENOSPC: 'the disk is full; free some space',
  EROFS: 'the file system is read-only; choose another place',
};

/** Turns a failure of the file system at a path into an error that says what to do. Returns any other error as it is. */
export function explainFileError(thrown: unknown): unknown {
  if (!(thrown instanceof Error) || !('code' in thrown) || !('path' in thrown)) {
    return thrown;
  }
  const advice = ADVICE[String(thrown.code)];
  return advice === undefined || typeof thrown.path !== 'string'
    ? thrown
    : new InvalidInputError(`${thrown.path}: ${advice} (${String(thrown.code)})`, {}, thrown);
}
