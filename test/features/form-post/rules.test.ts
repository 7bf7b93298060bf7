import { describe, expect, it } from 'vitest';
import { client, clientProblems, problemsOf, PUBLIC } from '../../unit/config/config-files.ts';

describe('response_modes', () => {
  const BOTH = { response_modes: '[query, form_post]' };
  const head = `${PUBLIC}features: { response_modes: [query, form_post] }\n`;

  it('says each contradiction once', async () => {
    for (const [yaml, words, before] of [
      [client(BOTH), 'form_post is off: add it to features.response_modes', PUBLIC],
      [client({ response_modes: '[]' }), 'must name at least one mode', head],
      [client({ response_modes: '[query, fragment]' }), 'must be one of query, form_post', head],
    ] as const) {
      expect(await clientProblems(yaml, before), words).toEqual([
        expect.stringMatching(new RegExp(`^clients\\[0\\]\\.response_modes.*${words}`)),
      ]);
    }
    const without = await problemsOf(`${PUBLIC}features: { response_modes: [form_post] }\n`);
    expect(without).toHaveLength(1);
    expect(JSON.stringify(without)).toContain('must include query, the default response mode');
  });
});
