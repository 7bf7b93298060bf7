// Makes a page easier to use; every page works without it. Shows the password, warns about Caps Lock, sends a form only
// once, sends a complete code, shows times relative to now, and copies, downloads or prints what the page shows. It sends no
// requests of its own.
'use strict';

for (const button of document.querySelectorAll('[data-reveals]')) {
  const input = document.getElementById(button.dataset.reveals);
  button.hidden = false;
  const show = (visible) => {
    input.type = visible ? 'text' : 'password';
    button.setAttribute('aria-pressed', String(visible));
  };
  button.addEventListener('click', () => {
    show(input.type === 'password');
    input.focus();
  });
  // Never sent, kept or offered for autofill as plain text.
  input.form.addEventListener('submit', () => show(false));
}

const capsLock = document.querySelector('[data-caps-lock]');
if (capsLock) {
  const password = document.getElementById('password');
  const look = (event) => {
    if (typeof event.getModifierState === 'function') capsLock.hidden = !event.getModifierState('CapsLock');
  };
  password.addEventListener('keydown', look);
  password.addEventListener('keyup', look);
  password.addEventListener('blur', () => {
    capsLock.hidden = true;
  });
}

// The second click of a double click would be answered instead of the first.
for (const form of document.querySelectorAll('form[data-once]')) {
  form.addEventListener('submit', (event) => {
    if (form.dataset.sent) event.preventDefault();
    form.dataset.sent = 'yes';
  });
}
addEventListener('pageshow', () => {
  for (const form of document.querySelectorAll('form[data-once]')) delete form.dataset.sent;
});

// Buttons that need a script are hidden without one.
function save(text) {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([text], { type: 'text/plain' }));
  link.download = 'recovery-codes.txt';
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

async function copy({ dataset, firstChild: words }) {
  await navigator.clipboard.writeText(dataset.copies);
  const before = words.textContent;
  if (before === dataset.done) return;
  words.textContent = dataset.done;
  setTimeout(() => (words.textContent = before), 2000);
}

const serve = (selector, act) => {
  for (const button of document.querySelectorAll(selector)) {
    button.hidden = false;
    button.addEventListener('click', () => act(button));
  }
};

// Only over https and on this machine.
if (navigator.clipboard) serve('[data-copies]', (button) => copy(button).catch(() => undefined));
serve('[data-downloads]', (button) => save(button.dataset.downloads));
serve('[data-prints]', () => print());

// Sends the form of a code that was pasted, filled in, or typed without a correction, and no code twice: a password manager
// that fills the field on each page would use up all attempts (WCAG 3.2.2: the hint of the field says so).
const LAST_SENT = 'postern.last_code_sent';
for (const input of document.querySelectorAll('[data-sends]')) {
  for (const hint of document.querySelectorAll('[data-sends-hint]')) hint.hidden = false;
  let before = '';
  let isCorrected = false;
  input.addEventListener('input', ({ inputType, data }) => {
    const digits = input.value.normalize('NFKC').replaceAll(/\s/g, '');
    // Autofill has no type, or inserts several characters at once.
    const isFilled =
      !inputType ||
      /Paste|Drop|Replacement/.test(inputType) ||
      (inputType === 'insertText' && data?.length > 1);
    isCorrected ||= !isFilled && !digits.startsWith(before);
    before = digits;
    if (!/^\d{6}$/.test(digits) || (isCorrected && !isFilled)) return;
    try {
      if (sessionStorage.getItem(LAST_SENT) === digits) return;
      sessionStorage.setItem(LAST_SENT, digits);
    } catch {
      // Without storage, an earlier page may have sent this code: leave it to the button.
      return;
    }
    input.form.requestSubmit();
  });
}

// "2 minutes ago"; the exact time, in the reader's time zone, is the tooltip.
const { lang } = document.documentElement;
const relative = new Intl.RelativeTimeFormat(lang, { numeric: 'auto' });
const UNITS = { year: 31536000, month: 2592000, week: 604800, day: 86400, hour: 3600, minute: 60, second: 1 };
for (const time of document.querySelectorAll('time')) {
  const at = new Date(time.dateTime);
  const seconds = Math.max(0, (Date.now() - at) / 1000);
  const [unit, size] = Object.entries(UNITS).find(([, of]) => seconds >= of) ?? ['second', 1];
  time.title = at.toLocaleString(lang, { dateStyle: 'long', timeStyle: 'short' });
  time.textContent = relative.format(-Math.floor(seconds / size), unit);
}
