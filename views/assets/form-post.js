// Sends the answer of a sign-in to the app. Where scripts don't run, the person does it with the button.
'use strict';

document.querySelector('form[data-answer]')?.requestSubmit();
