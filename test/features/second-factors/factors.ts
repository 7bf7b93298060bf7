// Helpers that several tests of second factors use.
import type { Page } from '../../world/browser.ts';

/** The names of the levels, as acr has them. */
export const NAMES = {
  password: 'urn:postern:acr:password',
  second_factor: 'urn:postern:acr:second-factor',
  passkey: 'urn:postern:acr:passkey',
};

/** The page of a user's own factors. */
export const isList = ({ text, status }: Page) => status === 200 && text.includes('class="page-factors"');
