// The checks of `postern doctor` through the public address, in the order of its report.
import { runCheck, type Check, type Result, type Target } from './check.ts';
import { checkClientAddress } from './client-address.ts';
import { checkDiscovery, checkReach } from './discovery.ts';
import { checkSignIn } from './sign-in.ts';
import { checkTls } from './tls.ts';

/** Run only when the service answers. */
const CHECKS: Readonly<Record<string, Check>> = {
  discovery: checkDiscovery,
  'sign-in': checkSignIn,
  'client-address': checkClientAddress,
};

export async function checkPublicAddress(target: Target): Promise<readonly Result[]> {
  const run = (name: string, check: Check) => runCheck(name, (report) => check(target, report));
  const results = [...(await run('tls', checkTls)), ...(await run('reach', checkReach))];
  if (!results.some(({ name }) => name === 'reach')) {
    const message = 'not checked: fix the problems above first';
    return [...results, { level: 'skipped', name: 'public', message }];
  }
  for (const [name, check] of Object.entries(CHECKS)) results.push(...(await run(name, check)));
  return results;
}
