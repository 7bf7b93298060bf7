// The search field of each page. The index is a script, so that pages opened from a folder find it, and is loaded at the first use.
import MiniSearch from 'minisearch';
import { SEARCH } from '../../tools/search.ts';

const { root } = document.body.dataset;
const field = document.querySelector('#search');
const list = document.querySelector('#results');
let index;

function load() {
  index ??= new Promise((resolve) => {
    const script = document.createElement('script');
    script.src = `${root}search-index.js`;
    script.addEventListener('load', () => resolve(MiniSearch.loadJSON(globalThis.searchIndex, SEARCH)));
    document.head.append(script);
  });
  return index;
}

function rowOf({ id, title, heading }) {
  const link = document.createElement('a');
  link.href = root + id;
  link.textContent = heading === title ? title : `${title}: ${heading}`;
  const row = document.createElement('li');
  row.append(link);
  return row;
}

async function show() {
  const words = field.value.trim();
  const opened = await load();
  if (words !== field.value.trim()) return;
  const found = words === '' ? [] : opened.search(words).slice(0, 12);
  list.replaceChildren(...found.map(rowOf));
  if (words !== '' && found.length === 0) list.textContent = 'No results';
}

field.parentElement.hidden = false;
field.addEventListener('focus', () => void load());
field.addEventListener('input', () => void show());
document.addEventListener('keydown', (event) => {
  if (event.key === '/' && document.activeElement !== field) {
    event.preventDefault();
    field.focus();
  }
  if (event.key === 'Escape') list.replaceChildren();
});
