// Run as a process of its own: what an operator does to a person while the service runs. LMDB forbids one process to
// open a folder twice, so a test can't do it beside the world that it runs in.
import { createAccountStates } from '../../src/users/account-state.ts';
import { openStore } from '../../src/store/open.ts';

const [location = '', accountId = '', change = ''] = process.argv.slice(2);
const store = await openStore(JSON.parse(location), Date.now);
await createAccountStates(store.documents).update(accountId, JSON.parse(change));
await store.close();
