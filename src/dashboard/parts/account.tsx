import { read, write } from '../client.ts';
import { useResource } from '../resource.ts';
import { isSignedOut } from '../session.ts';

/** Name of the token that the reader has signed in with, and the way out. */
export function Account() {
  const session = useResource('session', (signal) => read('/session', { signal }));
  if (isSignedOut.value || session.kind !== 'ready' || session.data.proof !== 'cookie') {
    return null;
  }
  const { token, tenant } = session.data;
  const signOut = async (): Promise<void> => {
    await write('DELETE /session', undefined);
    isSignedOut.value = true;
  };
  return (
    <span class="account">
      <span>
        {token}
        {tenant !== null && tenant !== '' && `, tenant ${tenant}`}
      </span>{' '}
      <button type="button" onClick={() => void signOut()}>
        Sign out
      </button>
    </span>
  );
}
