// What can be said of a rendered page by its HTML alone: is it usable with a screen reader, does the content security
// policy let it through, do its forms carry what they must. Owns no rule about looks; a browser sees the rest.

type Element = {
  readonly name: string;
  readonly attributes: ReadonlyMap<string, string>;
  /** Text inside, tags included, up to the first closing tag of the same name. */
  readonly inner: string;
};

const TAG =
  /<([a-zA-Z][a-zA-Z0-9-]*)((?:\s+[^\s"'<>=/]+(?:\s*=\s*(?:"[^"]*"|'[^']*'|[^\s"'<>]+))?)*)\s*\/?>/g;
const ATTRIBUTE = /([^\s"'<>=/]+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'<>]+)))?/g;

export function htmlFaults(html: string): string[] {
  const elements = parse(html);
  const named = (name: string) => elements.filter((one) => one.name === name);
  return [
    ...documentFaults(html, named),
    ...elements.flatMap((one) => elementFaults(one, elements)),
    ...repeated(elements.flatMap(({ attributes }) => attributes.get('id') ?? [])).map(
      (id) => `the id ${id} is there more than once`,
    ),
  ];
}

/** What the forms of a page must hold, by the fields of its model. */
export function formFaults(html: string, model: Readonly<Record<string, unknown>>): string[] {
  const forms = parse(html).filter(({ name }) => name === 'form');
  return forms.flatMap((form) => {
    const action = form.attributes.get('action') ?? '';
    const token = 'xsrf' in model ? 'xsrf' : 'csrf';
    const faults: string[] = [];
    if (form.attributes.get('method')?.toLowerCase() !== 'post')
      faults.push(`the form to ${action} must be method="post"`);
    if (!parse(form.inner).some(({ attributes }) => attributes.get('name') === token))
      faults.push(`the form to ${action} lacks the hidden field ${token}: it would be refused`);
    return faults;
  });
}

function documentFaults(html: string, named: (name: string) => readonly Element[]): string[] {
  const faults: string[] = [];
  const say = (isFault: boolean, text: string) => isFault && faults.push(text);
  say(!/^\s*<!doctype html>/i.test(html), 'must begin with <!doctype html>');
  say(
    (named('html')[0]?.attributes.get('lang') ?? '') === '',
    '<html> needs lang="<%= locale %>" (WCAG 3.1.1)',
  );
  say(textOf(named('title')[0]?.inner ?? '') === '', 'needs a <title> (WCAG 2.4.2)');
  say(named('h1').length !== 1, 'needs one <h1>');
  say(named('main').length !== 1, 'needs one <main>');
  const viewport = named('meta').find(({ attributes }) => attributes.get('name') === 'viewport');
  say(
    /user-scalable\s*=\s*(no|0)|maximum-scale/.test(viewport?.attributes.get('content') ?? ''),
    'the viewport must not stop people from zooming (WCAG 1.4.4)',
  );
  return faults;
}

function elementFaults(element: Element, elements: readonly Element[]): string[] {
  return [...nameFaults(element, elements), ...policyFaults(element)];
}

const UNLABELLED_INPUTS = new Set(['hidden', 'submit', 'button', 'reset', 'image']);
const FIELDS = new Set(['input', 'select', 'textarea']);

function nameFaults(element: Element, elements: readonly Element[]): string[] {
  const { name, attributes, inner } = element;
  if (name === 'img' && !attributes.has('alt')) return [`${show(element)} needs an alt (WCAG 1.1.1)`];
  if (['aria-label', 'aria-labelledby', 'title'].some((key) => attributes.has(key))) return [];
  if (FIELDS.has(name) && !UNLABELLED_INPUTS.has(attributes.get('type') ?? '')) {
    const isLabelled = elements.some((one) => one.name === 'label' && labels(one, element));
    return isLabelled ? [] : [`${show(element)} needs a <label> (WCAG 1.3.1)`];
  }
  const isSpoken = textOf(inner) !== '' || /\balt="[^"]+"/.test(inner);
  return (name === 'button' || name === 'a') && !isSpoken
    ? [`${show(element)} needs a text (WCAG 4.1.2)`]
    : [];
}

function labels(label: Element, field: Element): boolean {
  const id = field.attributes.get('id');
  if (id !== undefined && label.attributes.get('for') === id) return true;
  return parse(label.inner).some((one) => one.name === field.name && show(one) === show(field));
}

function policyFaults({ name, attributes }: Element): string[] {
  const faults: string[] = [];
  if (name === 'script' && !attributes.has('src'))
    faults.push('the content security policy stops scripts inside the page: use a file in assets/');
  if (name === 'style' || attributes.has('style'))
    faults.push('the content security policy stops styles inside the page: use assets/branding.css');
  const handler = [...attributes.keys()].find((key) => /^on[a-z]/.test(key));
  if (handler !== undefined) faults.push(`the content security policy stops ${handler}`);
  return faults;
}

function parse(html: string): readonly Element[] {
  return [...html.matchAll(TAG)].map((match) => {
    const name = (match[1] ?? '').toLowerCase();
    const rest = html.slice(match.index + match[0].length);
    const end = rest.toLowerCase().indexOf(`</${name}`);
    const attributes = [...(match[2] ?? '').matchAll(ATTRIBUTE)].map(
      ([, key = '', double, single, bare]) => [key.toLowerCase(), double ?? single ?? bare ?? ''] as const,
    );
    return { name, attributes: new Map(attributes), inner: end === -1 ? '' : rest.slice(0, end) };
  });
}

function textOf(inner: string): string {
  return inner.replaceAll(/<[^>]*>/g, '').trim();
}

function show({ name, attributes }: Element): string {
  const key = ['id', 'name', 'src', 'href', 'type'].find((one) => attributes.has(one));
  return key === undefined ? `<${name}>` : `<${name} ${key}="${attributes.get(key)}">`;
}

function repeated(values: readonly string[]): string[] {
  return [...new Set(values.filter((value, index) => values.indexOf(value) !== index))];
}
