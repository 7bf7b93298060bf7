// Shows what is chosen at once, gives each frame the height of its page, and loads the pages again when a view has changed.
'use strict';

const form = document.querySelector('form');
const frames = document.querySelectorAll('iframe');

form.addEventListener('change', () => form.submit());

function fit({ target: { contentDocument, parentElement } }) {
  // A template failed, and the frame says why.
  const isFault = contentDocument.contentType === 'text/plain';
  const height = isFault ? 320 : Math.max(contentDocument.documentElement.scrollHeight, 720);
  parentElement.style.setProperty('--height', `${height}px`);
  parentElement.classList.toggle('fault', isFault);
}

async function refresh() {
  const text = await (await fetch(location.href)).text();
  const fresh = new DOMParser().parseFromString(text, 'text/html');
  document.getElementById('problems').replaceWith(fresh.getElementById('problems'));
  for (const frame of frames) frame.contentWindow.location.replace(frame.src);
}

for (const frame of frames) {
  frame.addEventListener('load', fit);
  const { readyState, URL } = frame.contentDocument;
  if (readyState === 'complete' && URL === frame.src) fit({ target: frame });
}

const events = new EventSource('/events');
events.addEventListener('message', refresh);
// The preview was stopped: when it is there again, much can be different.
events.addEventListener('error', () => {
  events.addEventListener('open', () => location.reload());
});
