import { describe, expect, it } from 'vitest';
import { client, clientProblems, machine } from '../../unit/config/config-files.ts';

describe('PR-07, LO-14: backchannel_logout_uri', () => {
  it.each([
    'http://app.example/bcl',
    'https://app.example/bcl#x',
    'https://u:p@app.example/bcl',
    'https:app.example/bcl',
    'https://2130706433/bcl',
    'https://[::1]/bcl',
  ])('%s is refused', async (uri) => {
    expect(await clientProblems(client({ backchannel_logout_uri: `"${uri}"` }))).toEqual([
      expect.stringMatching(/^clients\[0\]\.backchannel_logout_uri: must be an https URL/),
    ]);
  });

  it('is for clients that people sign in to', async () => {
    const uri = { backchannel_logout_uri: 'https://app.example/bcl?a=b' };
    expect(await clientProblems(client(uri))).toEqual([]);
    expect(await clientProblems(machine(uri))).toEqual([expect.stringContaining('applies to users')]);
  });
});
