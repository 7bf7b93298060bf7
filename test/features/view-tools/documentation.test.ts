// docs/views.md names every page and every field, and no other; the compiler checks the fields against the types.
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { AllowedAppModel, EventModel, SessionModel } from '../../../src/features/account/models.ts';
import { MethodModel, NoticeModel } from '../../../src/features/second-factors/models.ts';
import {
  BrandingModel,
  DocumentModel,
  LanguageModel,
  PAGE_MODELS,
  PageContext,
} from '../../../src/views/models.ts';
import { ApiModel, ClientModel, EnrolmentModel, ScopeModel } from '../../../src/views/shared-models.ts';
import { fieldsOf, PAGE_STATES } from '../../../src/features/view-tools/page-samples.ts';
import { LOCAL_NAMES } from '../../../src/views/templates.ts';
import { listViewFiles } from '../../../src/views/view-files.ts';

const text = readFileSync('docs/views.md', 'utf8');

/** Names in the first column of the table below a heading, and whether each may be absent. */
function tableBelow(heading: string): Record<string, boolean> {
  const [, section = ''] = text.split(`\n${heading}\n`);
  const [table = ''] = section.split(/\n#+ /);
  return Object.fromEntries(
    [...table.matchAll(/^\| `(\w+)`(\??) +\|/gm)].map(([, name = '', mark]) => [name, mark === '?']),
  );
}

const MODELS = {
  ...PAGE_MODELS,
  AllowedAppModel,
  ApiModel,
  BrandingModel,
  ClientModel,
  DocumentModel,
  EnrolmentModel,
  EventModel,
  FactorModel: fieldsOf(PAGE_MODELS.factors)?.['factors'],
  LanguageModel,
  MethodModel,
  NoticeModel,
  PasskeyModel: fieldsOf(PAGE_MODELS.login)?.['passkey'],
  ScopeModel,
  SessionModel,
};

describe('docs/views.md', () => {
  it.each(Object.entries(MODELS))('has every field of %s', (name, schema) => {
    const fields = Object.keys(fieldsOf(schema) ?? {});
    expect(Object.keys(tableBelow(`### \`${name}\``)).toSorted()).toEqual(fields.toSorted());
  });

  it('has every name that a template sees', () => {
    expect(Object.keys(tableBelow('## Templates'))).toEqual([...LOCAL_NAMES]);
    for (const name of Object.keys(PageContext.shape)) expect(LOCAL_NAMES).toContain(name);
  });

  it('marks what may be absent: every sample has the rest', () => {
    for (const { name, title, model } of PAGE_STATES) {
      for (const [field, isOptional] of Object.entries(tableBelow(`### \`${name}\``))) {
        if (!isOptional) expect(Object.keys(model), `${field} of ${title}`).toContain(field);
      }
    }
  });

  it('names every partial', () => {
    const names = [...listViewFiles('views').keys()].flatMap(
      (name) => /^partials\/(.+)\.ejs$/.exec(name)?.[1] ?? [],
    );
    for (const name of names) expect(text).toContain(`\`${name}\``);
  });
});
