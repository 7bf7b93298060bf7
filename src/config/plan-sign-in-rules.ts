// What a change of sign-ins means: methods, levels, what apps require.
import type { Client } from './config.ts';
import { formatDuration } from './notation.ts';
import { AT_START, becomes, change, type Rule, toggle } from './plan-rule.ts';

const CHAINS_END = 'refresh tokens of sign-ins without one are refused, and their access tokens inactive';

const issuerRule: Rule = (difference, context) => {
  const isHostSame = new URL(String(difference.from)).hostname === new URL(String(difference.to)).hostname;
  const passkeys =
    context.current.signIn?.passkeys === true && !isHostSame ? ', and every passkey is useless' : '';
  return becomes(
    `every token, session and client that knows the old one ends${passkeys}; ${AT_START}`,
    'breaking',
  )(difference, context);
};

const signIn: Rule = ({ to }) =>
  to === undefined
    ? ['breaking', 'is removed: a password is all that anybody is asked for']
    : ['change', 'is new: people can have more than a password'];

const method = toggle(
  ['change', 'is on now'],
  ['breaking', 'is off now: nobody can sign in or add one by it; what people have is kept'],
);

const recoveryCodes: Rule = (difference) =>
  difference.to === 0
    ? ['breaking', 'are off now: those that people have kept are refused']
    : ['change', `${change(difference)}: for sets that are made from now on`];

const clientSignIn: Rule = ({ to }) => {
  if (to === undefined) return ['change', 'is removed: a password is enough for this app'];
  const { require, maxAge } = to as NonNullable<Client['signIn']>;
  const age = maxAge === undefined ? '' : `, at most ${formatDuration(maxAge)} old`;
  return ['breaking', `needs a ${require.replace('_', ' ')}${age}: ${CHAINS_END}`];
};

const requires: Rule = (difference) =>
  difference.to === 'passkey'
    ? ['breaking', `${change(difference)}: ${CHAINS_END}`]
    : ['change', change(difference)];

const anotherName = becomes(
  'apps that ask for a level by its name, or compare it, must know the new one',
  'breaking',
);

export const SIGN_IN_RULES: Readonly<Record<string, Rule>> = {
  issuer: issuerRule,
  'features.claims_parameter': toggle(
    ['change', 'is on now: apps may ask for single claims'],
    ['breaking', 'is off now: what apps ask for by it is ignored'],
  ),
  account: toggle(
    ['change', 'is on now: people get a page where they help themselves'],
    ['change', 'is off now: the page is gone, and new sessions are listed nowhere'],
  ),
  sign_in: signIn,
  'sign_in.passkeys': method,
  'sign_in.one_time_codes': method,
  'sign_in.recovery_codes': recoveryCodes,
  'sign_in.second_factor': becomes(),
  'sign_in.grace': becomes(),
  'sign_in.enrolment': becomes(),
  acr: (difference, context) =>
    difference.from === undefined ? ['change', 'is new'] : anotherName(difference, context),
  'clients[].sign_in': clientSignIn,
  'clients[].sign_in.require': requires,
  'clients[].sign_in.max_age': becomes(),
  'users[].password_hash': ({ to }) =>
    to === undefined
      ? ['breaking', "is removed: without a passkey, this person can't sign in"]
      : ['change', 'is another password'],
};
