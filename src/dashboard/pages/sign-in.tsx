import { useState } from 'preact/hooks';
import { describeFailure, write } from '../client.ts';
import { Page } from '../parts/page.tsx';
import { isSignedOut, signIns } from '../session.ts';

/** Form that takes the place of every page until the reader has signed in with a token. */
export function SignIn() {
  const [token, setToken] = useState('');
  const [fault, setFault] = useState('');
  const [isSending, setSending] = useState(false);
  const signIn = async (): Promise<void> => {
    setSending(true);
    try {
      await write('POST /session', { token });
      isSignedOut.value = false;
      signIns.value += 1;
    } catch (error) {
      setFault(describeFailure(error));
    } finally {
      setSending(false);
    }
  };
  return (
    <Page
      title="Sign in"
      lead="This spanscore asks for a token of its configuration (auth.tokens) with the scope read."
    >
      <form
        class="sign-in"
        onSubmit={(event) => {
          event.preventDefault();
          void signIn();
        }}
      >
        {/* Password managers of browsers file a token under a name. */}
        <input type="text" name="username" autocomplete="username" value="spanscore" hidden readOnly />
        <label>
          Token
          <input
            type="password"
            name="token"
            autocomplete="current-password"
            required
            value={token}
            aria-describedby="sign-in-fault"
            onInput={({ currentTarget }) => setToken(currentTarget.value)}
          />
        </label>
        <button type="submit" disabled={isSending}>
          Sign in
        </button>
        <p id="sign-in-fault" role="alert">
          {fault}
        </p>
      </form>
      <p>The browser keeps a sign-in of 12 hours, not the token.</p>
    </Page>
  );
}
