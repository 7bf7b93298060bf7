// The rules between users, and the demo password.
import type { Parts } from './check-access.ts';
import type { ClientContext } from './check-clients.ts';
import { DEMO_PASSWORD_HASH } from './demo.ts';
import { toUser } from './resolve.ts';
import { earlier, type Entry } from './rules.ts';
import { claimsFault, type UserForm } from './schema-user.ts';
import { canonicalUsername, lookOf } from './text.ts';
import { quoted } from './yaml.ts';

/** Reports duplicate ids and usernames, and users who couldn't sign in. */
export function checkUsers({ users }: Parts, context: ClientContext, notices: string[]): void {
  const { issuerIsLoopback, offered } = context;
  const emails = new Map<string, Entry<UserForm>>();
  const ids = new Map<string, Entry<UserForm>>();
  const usernames = new Map<string, Entry<UserForm>>();
  for (const user of users.list) {
    const { id, username, password_hash: hash, email } = user.value;
    const report = (key: keyof UserForm, message: string) => user.report([key], message);
    const fault = claimsFault(toUser(user.value).claims);
    if (fault) report('claims', fault);
    const sameId = earlier(ids, id, user);
    if (sameId) report('id', `"${id}" is already used at ${sameId.place()}`);
    const name = canonicalUsername(username);
    const sameName = earlier(usernames, name, user);
    if (sameName) report('username', `"${name}" is already used at ${sameName.place()}`);
    const sameEmail = email && earlier(emails, lookOf(email), user);
    // Without the place in the file: finding it takes too much memory for a notice.
    if (sameEmail && notices.length < 20)
      notices.push(
        `user ${quoted(name)} has the same email as ${quoted(sameEmail.value.username)}: apps may confuse them`,
      );
    if (hash === undefined && !offered.includes('passkey'))
      report('password_hash', 'is required unless sign_in.passkeys is on');
    if (hash === DEMO_PASSWORD_HASH && !issuerIsLoopback) {
      report('password_hash', 'is the public demo password, but the issuer is not on localhost');
    }
  }
}
