// The page of a one-time link in each of its states; samples.ts has the other pages.
import { ENROLMENT_SAMPLE } from './factor-samples.ts';
import type { PageModels } from './models.ts';

type LinkState = { readonly title: string; readonly name: 'link'; readonly model: PageModels['link'] };

const PASSWORD_LINK = {
  outcome: 'password',
  purpose: 'invite',
  action: 'https://id.example/interaction/link/abc',
  csrf: 'csrf-token',
  username: 'alice',
  minLength: 15,
} as const;

export const LINK_STATES: readonly LinkState[] = [
  {
    title: 'link',
    name: 'link',
    model: { outcome: 'ask', action: 'https://id.example/interaction/link/abc', csrf: 'csrf-token' },
  },
  { title: 'link invite', name: 'link', model: PASSWORD_LINK },
  { title: 'link reset', name: 'link', model: { ...PASSWORD_LINK, purpose: 'reset' } },
  ...(['too_short', 'too_long', 'guessable', 'different', 'passkey_refused'] as const).map((code) => ({
    title: `link ${code}`,
    name: 'link' as const,
    model: { ...PASSWORD_LINK, error: code },
  })),
  { title: 'link with long words', name: 'link', model: { ...PASSWORD_LINK, username: 'a'.repeat(64) } },
  {
    title: 'link invite with passkey',
    name: 'link',
    model: { ...PASSWORD_LINK, passkey: { options: '{}', handle: 'handle' } },
  },
  {
    title: 'link factors',
    name: 'link',
    model: { outcome: 'factors', username: 'alice', enrolment: ENROLMENT_SAMPLE },
  },
  ...(['trust', 'invite', 'reset', 'factors'] as const).map((purpose) => ({
    title: `link done ${purpose}`,
    name: 'link' as const,
    model: { outcome: 'done' as const, purpose },
  })),
  {
    title: 'link done factors, recovery codes',
    name: 'link',
    model: { outcome: 'done', purpose: 'factors', factorsUrl: 'https://id.example/factors' },
  },
  { title: 'link expired', name: 'link', model: { outcome: 'expired' } },
];
