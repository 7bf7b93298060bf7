// Makes a page easier where scripts run; every page works without it. Shows the password, warns of Caps Lock, and sends
// a form once. It reads no data and calls nobody.
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
