// OAuth 2.0 Form Post Response Mode: an app gets the answer of a sign-in in a form that the browser sends.
import * as z from 'zod';
import type { Rule } from '../../config/rules.ts';
import type { Declaration } from '../feature.ts';
import { formPostModel } from './models.ts';

const MODES = ['query', 'form_post'] as const;
type Modes = readonly (typeof MODES)[number][];

/** `fragment` isn't offered: it leaks codes, and no client of the code flow needs it (RFC 9700 §4.3). */
const modes = () => z.array(z.enum(MODES)).min(1, 'must name at least one mode').default(['query']);

type Settings = { readonly features: { readonly responseModes: Modes } };

const isListed: Rule<{ readonly response_modes: Modes }, Settings> = {
  at: 'response_modes',
  fault: ({ response_modes: sent }, { features }) =>
    sent.some((mode) => !features.responseModes.includes(mode))
      ? 'form_post is off: add it to features.response_modes'
      : undefined,
};

export const formPost = {
  name: 'form-post',
  switches: {
    response_modes: modes()
      .refine((some) => some.includes('query'), 'must include query, the default response mode')
      .describe(
        'How apps receive the result of a sign-in: query, in the URL of a redirect; form_post, in a form that the browser sends, for clients that also list it.',
      ),
  },
  client: {
    response_modes: modes().describe(
      'Values of response_mode that the client can send. form_post must be in features.response_modes, too.',
    ),
  },
  clientRules: [isListed],
  pages: { 'form-post': formPostModel },
  isOn: ({ features }: Settings) => features.responseModes.includes('form_post'),
} as const satisfies Declaration;
